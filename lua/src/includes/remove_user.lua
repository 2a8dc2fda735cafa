-- @include held_entry
-- @include hold_entry
-- @include rank_of
-- @include drop_entry
-- @include describe_changes
-- Take a user out of all the rankings given; give the receipt's changes as text and whether he stood in any.
local function remove_user(targets, kind, user)
  local found = false
  for _, ranking in ipairs(targets) do
    local standing, member = held_entry(ranking, user)
    ranking.old, ranking.new, ranking.old_rank, ranking.new_rank = standing, nil, nil, nil
    if standing then
      found = true
      ranking.old_rank = kind ~= '-' and rank_of(ranking, kind, standing, member)
      if ranking.held then
        hold_entry(ranking, user)
      else
        drop_entry(ranking, user, standing, member)
      end
    end
  end
  return describe_changes(targets, kind), found
end
