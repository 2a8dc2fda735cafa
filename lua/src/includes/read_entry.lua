-- @include split_packed
-- @include call
-- A user's standing, member and value in a ranking, or nil. The tick stays where it is in those, as few need it: see describe_row.
local function read_entry(ranking, user)
  local member = user
  if ranking.exact then
    local bytes = call('HGET', ranking.ticks, user)
    if not bytes then
      return nil
    end
    member = bytes .. user
  end
  local digits = call('ZSCORE', ranking.entries, member)
  if not digits then
    return nil
  end
  local value = tonumber(digits)
  local standing = split_packed(ranking, value)
  return standing, member, value
end
