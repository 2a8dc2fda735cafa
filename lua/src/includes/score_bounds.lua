-- @include score
-- @include count_better
-- @include count_through
-- The indexes [from, stop) of the entries whose score lies between two scores, both included; '-' for no bound.
-- Nil and an error where a bound is no score.
local function score_bounds(ranking, total, lowest, highest)
  local best, worst = lowest, highest
  if ranking.sign == -1 then
    best, worst = highest, lowest
  end
  local from, stop = 0, total
  if best ~= '-' then
    local bound = score(best, ranking.score_type)
    if not bound then
      return nil, "LBNUMBER bound '" .. best .. "' is not exactly a number of type " .. ranking.score_type
    end
    from = count_better(ranking, ranking.sign * bound + 0)
  end
  if worst ~= '-' then
    local bound = score(worst, ranking.score_type)
    if not bound then
      return nil, "LBNUMBER bound '" .. worst .. "' is not exactly a number of type " .. ranking.score_type
    end
    stop = count_through(ranking, ranking.sign * bound + 0)
  end
  return from, stop
end
