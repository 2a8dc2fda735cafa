-- @include call
-- Check that the board has room for the ranking's segment value; give a refusal where it has not.
-- Whether the value is new is remembered on the ranking, for write_change to register it.
local function admit_segment(ranking)
  if ranking.admitted then
    return nil
  end
  if call('SISMEMBER', ranking.segment_values, ranking.segment) == 0 then
    if call('SCARD', ranking.segment_values) >= tonumber(ranking.limit) then
      return "LBSEGMENT '" .. ranking.segment .. "' is one value too many: the board allows " .. ranking.limit
    end
    ranking.new_segment = true
  end
  ranking.admitted = true
  return nil
end
