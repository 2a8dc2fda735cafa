-- The lowest and highest value that entries of one standing can have. Where the value is the standing itself it may be a
-- fraction, which adding and taking 1 would round.
local function tie_bounds(ranking, standing)
  if ranking.span == 1 then
    return standing, standing
  end
  local lowest = (standing - ranking.centre) * ranking.span
  return lowest, lowest + ranking.span - 1
end
