-- @include rank_of
-- The rank of an entry by its place in the list, from 1, and the standings directly before and behind it (nil: not known).
-- It is the place where a tie begins or ends with the entry, else it is counted: once for all who tie, which `known` remembers.
local function rank_in_sight(ranking, kind, total, place, before, standing, behind, known)
  if kind == 'unique'
    or kind == 'sparse' and (place == 1 or before and before ~= standing)
    or kind == 'modified' and (place == total or behind and behind ~= standing) then
    return place
  end
  local rank = known[standing]
  if not rank then
    rank = rank_of(ranking, kind, standing)
    known[standing] = rank
  end
  return rank
end
