-- @include score
-- @include count_better
-- @include count_through
-- The indexes [from, stop) of the entries whose score lies between two scores, both included; '-' for no bound.
-- Nil and an error where a bound is no score.
local function score_bounds(ranking, total, lowest, highest)
  local standings = {}
  for i, bound in ipairs({lowest, highest}) do
    local number = bound ~= '-' and score(bound, ranking.score_type)
    if number == nil then
      return nil, "LBNUMBER bound '" .. bound .. "' is not exactly a number of type " .. ranking.score_type
    end
    standings[i] = number and ranking.sign * number + 0
  end
  local best, worst = standings[1], standings[2]
  if ranking.sign == -1 then
    best, worst = worst, best
  end
  return best and count_better(ranking, best) or 0, worst and count_through(ranking, worst) or total
end
