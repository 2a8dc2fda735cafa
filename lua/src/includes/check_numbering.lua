-- @include call
-- @include check_least
-- Give an error where a board with a journal may not give numbers now: it stands before the number that its log wants it to
-- stand at, or the call was planned at a time that the log takes nothing of any more ('-' for a call that names none).
local function check_numbering(board, seq, planned_at)
  local values = call('HMGET', board, 'least', 'closed_until')
  local problem = check_least(seq, values[1] or '-')
  if problem or planned_at == '-' or not values[2] then
    return problem
  end
  local time = tonumber(planned_at)
  if not time then
    return 'LBCALL the time of the call is in us, or - for none'
  end
  if time < tonumber(values[2]) then
    return 'LBPAST events of a time before ' .. values[2] .. ' are not taken any more: plan those of ' .. planned_at .. ' anew'
  end
  return nil
end
