-- @include call
-- Call a command that takes many values, as often as it needs: unpack gives out at some 8000.
local function call_in_chunks(command, key, values)
  for first = 1, #values, 4000 do
    call(command, key, unpack(values, first, math.min(first + 3999, #values)))
  end
end
