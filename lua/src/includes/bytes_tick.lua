-- Read a tick back from the front of a member.
local function bytes_tick(member, width)
  local tick = 0
  for i = 1, width do
    tick = tick * 256 + string.byte(member, i)
  end
  return tick
end
