-- @include read_entry
-- @include rank_of
-- @include describe_changes
-- What a receipt says of a user whom nothing moved: his scores and ranks as they are.
local function standing_receipt(targets, kind, user)
  for _, ranking in ipairs(targets) do
    local standing, member = read_entry(ranking, user)
    local rank = standing and kind ~= '-' and rank_of(ranking, kind, standing, member)
    ranking.old, ranking.new, ranking.old_rank, ranking.new_rank = standing, standing, rank, rank
  end
  return describe_changes(targets, kind)
end
