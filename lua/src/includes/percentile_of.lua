-- The percentage of users not strictly ahead, to one decimal (half rounds up), as text; worked out in whole tenths.
local function percentile_of(better, total)
  local tenths = math.floor((2000 * (total - better) + total) / (2 * total))
  return string.format('%d.%d', math.floor(tenths / 10), tenths % 10)
end
