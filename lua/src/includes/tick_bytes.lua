-- Write a tick as big-endian bytes, so that Redis orders tied members by time.
local function tick_bytes(tick, width)
  local floor, low = math.floor, tick % 4294967296
  local bytes = string.char(floor(low / 16777216), floor(low / 65536) % 256, floor(low / 256) % 256, low % 256)
  if width == 4 then
    return bytes
  end
  local high = floor(tick / 4294967296)
  bytes = string.char(floor(high / 256) % 256, high % 256) .. bytes
  if width == 6 then
    return bytes
  end
  return string.char(floor(high / 65536)) .. bytes
end
