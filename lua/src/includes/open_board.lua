-- @include call
-- Read the number the board stands at and compare each window's layout with the one its data was written in.
-- Give the number and the layouts Redis does not know yet, or nil and an error.
local function open_board(board, rankings)
  local fields, windows, seen = {'seq'}, {}, {}
  for _, ranking in ipairs(rankings) do
    local layout = seen[ranking.window]
    if layout and layout ~= ranking.layout then
      return nil, "LBLAYOUT window '" .. ranking.window .. "' can't be '" .. layout .. "' and '" .. ranking.layout .. "' at once"
    elseif not layout then
      seen[ranking.window] = ranking.layout
      windows[#windows + 1] = ranking
      fields[#fields + 1] = 'layout:' .. ranking.window
    end
  end
  local values = call('HMGET', board, unpack(fields))
  local unknown = {}
  for i, ranking in ipairs(windows) do
    local known = values[i + 1]
    if not known then
      unknown[#unknown + 1] = fields[i + 1]
      unknown[#unknown + 1] = ranking.layout
    elseif known ~= ranking.layout then
      return nil, "LBLAYOUT window '" .. ranking.window .. "' was written as '" .. known .. "', not as '"
        .. ranking.layout .. "': rebuild or drop its data, or go back to the old rules"
    end
  end
  return tonumber(values[1] or 0), unknown
end
