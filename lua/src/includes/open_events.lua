-- The stream that tells others of events, where the call has one ('-' as its start says no); nil and an error where it is wrong.
local function open_events(from, key)
  if from == '-' then
    return false
  end
  if not key or not string.find(from, '^%d+$') then
    return nil, 'LBCALL the events need a key and the ms from which on they are kept, or - for none'
  end
  return {key = key, from = from}
end
