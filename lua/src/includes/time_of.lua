-- The time a tick stands for, as fine as the board keeps it; false where ties are not broken by time.
local function time_of(ranking, tick)
  if ranking.tie_break == 'member' then
    return false
  end
  if ranking.tie_break == 'last' then
    tick = ranking.slots - 1 - tick
  end
  return (ranking.first_tick + tick) * ranking.resolution
end
