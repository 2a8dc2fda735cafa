-- Place a time inside the ranking's period: the lower the tick, the nearer the front of a tie. Nil where it lies outside.
local function tick_of(ranking, at)
  if ranking.tie_break == 'member' then
    return 0
  end
  local tick = math.floor(at / ranking.resolution) - ranking.first_tick
  if tick < 0 or tick >= ranking.slots then
    return nil
  end
  if ranking.tie_break == 'last' then
    return ranking.slots - 1 - tick
  end
  return tick
end
