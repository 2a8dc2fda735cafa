-- @include plan_change
-- @include write_change
-- @include rank_of
-- @include describe_changes
-- Fold one submission into all its rankings or, where one of them refuses it, into none.
-- Give the receipt's changes as text, or nil and the refusal. `kind` is the ranking kind of the ranks wanted, or '-'.
local function apply_submission(targets, rules, kind, user, points, at, update)
  for i = 1, #targets do
    local refusal = plan_change(targets[i], rules, user, points, at, update)
    if refusal then
      return nil, refusal
    end
  end
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
