-- @include text
-- @include tie_bounds
-- @include call
-- Drop a dense level that nobody stands on any more.
local function leave_level(ranking, standing)
  if call('ZCOUNT', ranking.entries, tie_bounds(ranking, standing)) == 0 then
    call('ZREM', ranking.levels, text(standing))
  end
end
