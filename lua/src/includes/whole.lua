-- Read decimal digits as a whole number of at most 2^53-1 either way, or give nil. '-0' reads as 0.
local function whole(digits)
  if #digits > 17 or not string.find(digits, '^%-?%d+$') then
    return nil
  end
  local number = tonumber(digits)
  if number > 9007199254740991 or number < -9007199254740991 then
    return nil
  end
  return number + 0
end
