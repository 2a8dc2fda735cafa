-- @include score
-- @include whole
-- Read points and time and check the update; give points and time, or nil, nil and a refusal.
local function parse_points(rules, digits, time, update)
  local points = score(digits, rules.score_type)
  if not points then
    return nil, nil, "LBNUMBER points '" .. digits .. "' are not exactly a number of type " .. rules.score_type
  end
  if time ~= rules.last_time then
    rules.last_time, rules.last_at = time, whole(time)
  end
  local at = rules.last_at
  if not at or at < 0 then
    return nil, nil, "LBNUMBER time '" .. time .. "' is not a number of microseconds"
  end
  if not rules.allowed[update] then
    return nil, nil, "LBUPDATE the board does not allow update '" .. update .. "'"
  end
  return points, at
end
