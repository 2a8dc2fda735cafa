-- @include call
-- Give an error where a segment has other values than the caller was told of. `counts` are how many each had ('-' to check
-- none); keys from `first` on are their sets.
local function check_values(keys, first, counts)
  local place = first
  for digits in string.gmatch(counts, '%d+') do
    if not keys[place] then
      return 'LBCALL the set of values of a segment is missing: send it as the manifest describes'
    end
    if call('SCARD', keys[place]) ~= tonumber(digits) then
      return 'LBMOVED a segment has got new values: list them again and repeat the call'
    end
    place = place + 1
  end
  return nil
end
