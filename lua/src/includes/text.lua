-- @include format
-- Write a number as decimal text that reads back as the same double.
local function text(number)
  if number % 1 == 0 and number < 1e15 and number > -1e15 then
    return format('%d', number)
  end
  return format('%.17g', number)
end
