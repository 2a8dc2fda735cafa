-- @include call
-- How many users stand ahead of a standing or tied with it.
local function count_through(ranking, standing)
  local last_of_tie = (standing - ranking.centre) * ranking.span + ranking.span - 1
  return call('ZCOUNT', ranking.entries, '-inf', last_of_tie)
end
