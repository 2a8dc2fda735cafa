-- Hold a change back: where a user now stands in a ranking, nil for one who leaves it. He was read by held_entry before.
local function hold_entry(ranking, user, standing, tick)
  local entry = ranking.held[user]
  if not entry.changed then
    entry.changed = true
    ranking.holders[#ranking.holders + 1] = user
  end
  entry.standing, entry.tick = standing, tick
end
