-- @include whole
-- @include text
-- Give an error where the board does not stand at a number at least ('-' for any): one that has lost events would give
-- their numbers again.
local function check_least(seq, least)
  if least == '-' then
    return nil
  end
  local number = whole(least)
  if not number then
    return 'LBCALL the least number the board must stand at is a whole number, or - for any'
  end
  if seq < number then
    return 'LBBEHIND the board stands at ' .. text(seq) .. ', not at ' .. least .. ' or beyond: it has lost events, bring them back first'
  end
  return nil
end
