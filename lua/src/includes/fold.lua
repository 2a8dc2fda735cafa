-- The standing after an update; `old` is nil for a user who is new in the ranking.
local function fold(update, old, points)
  if old == nil or update == 'latest' then
    return points
  elseif update == 'increment' then
    return old + points
  end
  return math.min(old, points)
end
