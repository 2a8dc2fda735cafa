-- @include format
-- Write a number as decimal text that reads back as the same double; whole numbers are quicker as such.
local function text(number)
  if number % 1 == 0 and number <= 9007199254740991 and number >= -9007199254740991 then
    return format('%d', number)
  end
  return format('%.17g', number)
end
