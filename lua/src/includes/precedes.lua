-- Whether one text comes before another by its bytes, as Redis orders members. Lua's own < follows the locale.
local function precedes(one, other)
  for i = 1, math.min(#one, #other) do
    local left, right = string.byte(one, i), string.byte(other, i)
    if left ~= right then
      return left < right
    end
  end
  return #one < #other
end
