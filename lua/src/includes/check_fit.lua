-- @include member_of
-- Give an error where a ranking's layout can't hold all scores that the rules allow.
local function check_fit(rules, ranking)
  if rules.score_type ~= ranking.score_type then
    return "LBCALL the rules count in type " .. rules.score_type .. ", window '" .. ranking.window .. "' in " .. ranking.score_type
  end
  if ranking.span == 1 then
    return nil
  end
  for _, bound in ipairs({rules.lowest, rules.highest}) do
    local _, value = member_of(ranking, '', ranking.sign * bound, 0)
    if value < -9007199254740991 or value + ranking.span - 1 > 9007199254740991 then
      return "LBCALL scores of the rules do not fit into the layout of window '" .. ranking.window .. "'"
    end
  end
  return nil
end
