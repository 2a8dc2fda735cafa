-- @include member_of
-- @include text
-- @include precedes
-- @include call
-- The index of the first entry behind a position, whether or not an entry still stands on it.
-- Where none does, its place is searched among those with the same score and tick: log2 of their number more commands.
local function index_after(ranking, standing, tick, user)
  local member, value = member_of(ranking, user, standing, tick)
  local there = call('ZSCORE', ranking.entries, member)
  if there and tonumber(there) == value then
    return call('ZRANK', ranking.entries, member) + 1
  end
  local low = call('ZCOUNT', ranking.entries, '-inf', '(' .. text(value))
  local high = call('ZCOUNT', ranking.entries, '-inf', value)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if precedes(call('ZRANGE', ranking.entries, middle, middle)[1], member) then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end
