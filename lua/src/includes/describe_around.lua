-- @include describe_row
-- @include plain_score
-- @include time_of
-- @include percentile_of
-- @include rank_in_sight
-- @include call
-- Where a member stands: [score, time, rank, percentile], and user, score, time and rank of the entry directly above and of
-- the one below. `known` and `known_better` are for what is counted on the way, see rank_in_sight. One entry more is looked at
-- where it can tell where a tie begins or ends.
local function describe_around(ranking, kind, total, member, known, known_better)
  local index = call('ZRANK', ranking.entries, member)
  local place, reach = index + 1, kind == 'sparse' and 2 or 1
  local first = index > reach and index - reach or 0
  local rows = call('ZRANGE', ranking.entries, first, kind == 'modified' and index + 2 or place, 'WITHSCORES')
  local at = 2 * (index - first) + 1
  local _, own, tick = describe_row(ranking, rows[at], rows[at + 1])
  local far, above_user, above, above_tick, below_user, below, below_tick, beyond
  if index > 0 then
    above_user, above, above_tick = describe_row(ranking, rows[at - 2], rows[at - 1])
  end
  if rows[at - 4] then
    _, far = describe_row(ranking, rows[at - 4], rows[at - 3])
  end
  if place < total then
    below_user, below, below_tick = describe_row(ranking, rows[at + 2], rows[at + 3])
  end
  if rows[at + 4] then
    _, beyond = describe_row(ranking, rows[at + 4], rows[at + 5])
  end
  local better = rank_in_sight(ranking, 'sparse', total, place, above, own, below, known_better) - 1
  local rank = kind == 'sparse' and better + 1 or rank_in_sight(ranking, kind, total, place, above, own, below, known)
  local above_rank, below_rank
  if kind == 'dense' then
    above_rank, below_rank = above and (above == own and rank or rank - 1), below and (below == own and rank or rank + 1)
  else
    above_rank = above and rank_in_sight(ranking, kind, total, place - 1, far, above, own, known)
    below_rank = below and rank_in_sight(ranking, kind, total, place + 1, own, below, beyond, known)
  end
  return {
    plain_score(ranking, own), time_of(ranking, tick), rank, percentile_of(better, total),
    above_user or false, above and plain_score(ranking, above) or false, above and time_of(ranking, above_tick) or false,
    above_rank or false,
    below_user or false, below and plain_score(ranking, below) or false, below and time_of(ranking, below_tick) or false,
    below_rank or false,
  }
end
