-- @include put_entry
-- @include hold_entry
-- @include call
-- Write the change a ranking carries; a score that stays the same keeps its place among its equals.
local function write_change(ranking, user)
  if ranking.new == ranking.old then
    ranking.member = ranking.old_member
    return
  end
  ranking.changed = true
  if ranking.held then
    hold_entry(ranking, user, ranking.new, ranking.tick)
  else
    ranking.member = put_entry(ranking, user, ranking.new, ranking.tick, ranking.old, ranking.old_member)
  end
  if ranking.segment_values and not ranking.registered then
    call('SADD', ranking.segment_values, ranking.segment)
    ranking.registered = true
  end
end
