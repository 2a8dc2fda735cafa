-- Whether these words and numbers make a layout. Compared one by one: a table of the words would be built anew by every call.
local function is_layout(encoding, order, tie_break, resolution, slots, parameter, score_type, levels)
  return (encoding == 'packed' or encoding == 'exact' and (parameter == '4' or parameter == '6' or parameter == '7'))
    and (order == 'desc' or order == 'asc')
    and (tie_break == 'first' or tie_break == 'last' or tie_break == 'member')
    and (score_type == 'integer' or score_type == 'float')
    and (levels == 'levels' or levels == '-')
    and tonumber(resolution) > 0
    and tonumber(slots) > 0
end
