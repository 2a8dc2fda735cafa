-- @include text
-- @include call
-- Drop a dense level that nobody stands on any more.
local function leave_level(ranking, standing)
  local lowest = (standing - ranking.centre) * ranking.span
  if call('ZCOUNT', ranking.entries, lowest, lowest + ranking.span - 1) == 0 then
    call('ZREM', ranking.levels, text(standing))
  end
end
