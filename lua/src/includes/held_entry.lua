-- @include read_entry
-- A user's standing and member in a ranking, as the call has left them so far. Where the ranking holds changes back, who was
-- read once is not read again.
local function held_entry(ranking, user)
  local held = ranking.held
  if not held then
    return read_entry(ranking, user)
  end
  local entry = held[user]
  if not entry then
    local standing, member = read_entry(ranking, user)
    entry = {standing = standing, old_standing = standing, old_member = member}
    held[user] = entry
  end
  return entry.standing, user
end
