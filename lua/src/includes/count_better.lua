-- @include text
-- @include call
-- How many users stand strictly ahead of a standing.
local function count_better(ranking, standing)
  if ranking.span == 1 then
    return call('ZCOUNT', ranking.entries, '-inf', '(' .. text(standing))
  end
  return call('ZCOUNT', ranking.entries, '-inf', (standing - ranking.centre) * ranking.span - 1)
end
