-- @include split_packed
-- @include bytes_tick
-- @include call
-- A user's standing, tick and member in a ranking, or nil.
local function read_entry(ranking, user)
  if ranking.exact then
    local bytes = call('HGET', ranking.ticks, user)
    if not bytes then
      return nil
    end
    local member = bytes .. user
    local standing = call('ZSCORE', ranking.entries, member)
    if not standing then
      return nil
    end
    return tonumber(standing), bytes_tick(bytes, ranking.width), member
  end
  local value = call('ZSCORE', ranking.entries, user)
  if not value then
    return nil
  end
  local standing, tick = split_packed(ranking, tonumber(value))
  return standing, tick, user
end
