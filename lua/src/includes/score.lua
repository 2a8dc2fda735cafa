-- @include whole
-- Read a score, or give nil where the text is not exactly one double of the board's type.
-- Digits without a point or exponent must name the double itself; others may have 17 significant digits,
-- which is what it takes to name any double.
local function score(decimal, score_type)
  if score_type == 'integer' then
    return whole(decimal)
  end
  local head, fraction, exponent = string.match(decimal, '^%-?(%d+)(%.?%d*)([eE]?[+-]?%d*)$')
  if not head or fraction == '.' or (exponent ~= '' and not string.find(exponent, '^[eE][+-]?%d+$')) then
    return nil
  end
  local significant = string.gsub(string.gsub(head .. fraction, '%.', ''), '^0+', '')
  local number = tonumber(decimal)
  if number == math.huge or number == -math.huge or (number == 0 and string.find(significant, '[1-9]')) then
    return nil
  end
  if fraction == '' and exponent == '' then
    local exact = string.format('%.0f', math.abs(number))
    return (exact == significant or number == 0) and number + 0 or nil
  end
  if #significant > 17 then
    return nil
  end
  return number + 0
end
