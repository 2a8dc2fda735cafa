-- @include tie_bounds
-- @include call
-- How many users stand ahead of a standing or tied with it.
local function count_through(ranking, standing)
  local _, highest = tie_bounds(ranking, standing)
  return call('ZCOUNT', ranking.entries, '-inf', highest)
end
