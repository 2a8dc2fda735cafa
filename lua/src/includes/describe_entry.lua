-- @include read_entry
-- @include describe_row
-- @include rank_of
-- @include time_of
-- @include plain_score
-- @include percentile_of
-- @include count_better
-- A user's [score, time, rank, percentile] in a ranking; false where he is not ranked.
local function describe_entry(ranking, kind, with_percentile, total, user)
  local standing, member, value = read_entry(ranking, user)
  if not standing then
    return false
  end
  local rank, percentile = rank_of(ranking, kind, standing, member), false
  if with_percentile then
    local better = kind == 'sparse' and rank - 1 or count_better(ranking, standing)
    percentile = percentile_of(better, total)
  end
  local _, _, tick = describe_row(ranking, member, value)
  return {plain_score(ranking, standing), time_of(ranking, tick), rank, percentile}
end
