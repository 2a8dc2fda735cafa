-- @include write_change
-- @include rank_of
-- @include describe_changes
-- Write the changes that a submission's rankings carry; give them as text. `kind` is the ranking kind of the ranks wanted, or '-'.
local function write_submission(targets, kind, user)
  for i = 1, #targets do
    local ranking = targets[i]
    if kind ~= '-' then
      ranking.old_rank = ranking.old and rank_of(ranking, kind, ranking.old, ranking.old_member)
    end
    write_change(ranking, user)
    if kind ~= '-' then
      ranking.new_rank = ranking.new == ranking.old and ranking.old_rank
        or rank_of(ranking, kind, ranking.new, ranking.member)
    end
  end
  return describe_changes(targets, kind)
end
