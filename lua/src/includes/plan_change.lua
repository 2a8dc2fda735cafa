-- @include fold
-- @include held_entry
-- @include tick_of
-- @include admit_segment
-- @include text
-- Work out what a submission does to one ranking, without writing; give a refusal or nil.
-- The ranking carries the change until the next one: a table of its own for each would cost as much as a Redis command.
local function plan_change(ranking, rules, user, points, at, update)
  local refusal = ranking.segment_values and not ranking.registered and admit_segment(ranking)
  if refusal then
    return refusal
  end
  if at ~= ranking.last_at then
    ranking.last_at, ranking.tick = at, tick_of(ranking, at)
  end
  if not ranking.tick then
    return 'LBTIME ' .. text(at) .. " lies outside the period of window '" .. ranking.window .. "'"
  end
  local old, old_member = held_entry(ranking, user)
  local new = fold(update, old, ranking.sign * points) + 0
  local reached = ranking.sign * new
  if reached < rules.lowest or reached > rules.highest then
    return 'LBRANGE score ' .. text(reached + 0) .. " in window '" .. ranking.window .. "' is outside "
      .. text(rules.lowest) .. ' to ' .. text(rules.highest)
  end
  ranking.old, ranking.old_member, ranking.new = old, old_member, new
  return nil
end
