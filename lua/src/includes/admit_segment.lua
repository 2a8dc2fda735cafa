-- @include call
-- Check that the board has room for the ranking's segment value; give a refusal where it has not.
local function admit_segment(ranking)
  if call('SISMEMBER', ranking.segment_values, ranking.segment) == 1 then
    ranking.registered = true
  elseif call('SCARD', ranking.segment_values) >= tonumber(ranking.limit) then
    return "LBSEGMENT '" .. ranking.segment .. "' is one value too many: the board allows " .. ranking.limit
  end
  return nil
end
