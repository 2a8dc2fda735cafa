-- @include leave_level
-- @include call
-- Take a user out of a ranking.
local function drop_entry(ranking, user, standing, member)
  call('ZREM', ranking.entries, member)
  ranking.lives = nil
  ranking.changed = true
  if ranking.exact then
    call('HDEL', ranking.ticks, user)
  end
  if ranking.levels then
    leave_level(ranking, standing)
  end
end
