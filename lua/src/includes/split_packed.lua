-- Take a packed value apart into standing (the score with the sign that makes low better) and tick.
local function split_packed(ranking, value)
  local span = ranking.span
  if span == 1 then
    return value, 0
  end
  local tick = value % span
  return (value - tick) / span + ranking.centre, tick
end
