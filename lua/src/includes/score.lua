-- @include format
-- @include whole
-- Read a score, or give nil where the text does not name one double of the board's type.
-- Up to 17 significant digits are compared with those of the double itself, so nothing is rounded on the way; more are taken
-- only of a whole number that is a double to its last digit.
local function score(decimal, score_type)
  if score_type == 'integer' then
    return whole(decimal)
  end
  local mantissa, exponent = string.match(decimal, '^%-?([%d.]+)(.*)$')
  local head, fraction = string.match(mantissa or '', '^(%d+)(.*)$')
  if not head or #decimal > 330 or not (fraction == '' or string.find(fraction, '^%.%d+$'))
    or not (exponent == '' or string.find(exponent, '^[eE][+-]?%d+$')) then
    return nil
  end
  local number = tonumber(decimal)
  local digits = string.gsub(string.gsub(head .. string.sub(fraction, 2), '^0+', ''), '0+$', '')
  if number == 0 or number == math.huge or number == -math.huge then
    return number == 0 and digits == '' and 0 or nil
  end
  local held = #digits <= 17 and format('%.' .. #digits - 1 .. 'e', math.abs(number)) or format('%.0f', math.abs(number))
  held = string.gsub(string.gsub(held, 'e.*', ''), '%.', '')
  if string.gsub(held, '0+$', '') ~= digits then
    return nil
  end
  return number
end
