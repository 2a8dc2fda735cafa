-- Take off KEYS what changes are signalled by, one key for each ranking ('-' as the interval: no signals).
-- Give the interval and the next key, or nil and an error.
-- @wire signals where a call has an interval, each ranking that it changed is signalled at most once an interval: its key of "signals" lives as long, and who made it publishes on the channel of the board's key with ":@live" behind it the number the board stands at and the rankings' entries keys, with one space between. The number alone says that any of them may have changed. What changed while a key lived is not signalled: who hears a signal looks once more an interval later
local function open_signals(interval, keys, next_key, rankings)
  if interval == '-' then
    return false, next_key
  end
  local behind = next_key + #rankings
  if not string.find(interval, '^[1-9]%d*$') or #interval > 9 or not keys[behind - 1] then
    return nil, 'LBCALL signals need an interval in ms and a key for each ranking, or - for none'
  end
  for i, ranking in ipairs(rankings) do
    ranking.signal = keys[next_key + i - 1]
  end
  return interval, behind
end
