-- @include call
-- The journal's key where the call has one ('-' as its limit says no); nil and an error where `items` more would overfill it.
local function open_journal(limit, key, items)
  if limit == '-' then
    return false
  end
  local room = tonumber(limit)
  if not key or not room then
    return nil, 'LBCALL the journal needs a key and a limit, or - for none'
  end
  if call('XLEN', key) + items > room then
    return nil, 'LBJOURNAL the journal has no room for ' .. items .. ' more entries (limit ' .. limit
      .. '): let a worker drain it, then repeat the call'
  end
  return key
end
