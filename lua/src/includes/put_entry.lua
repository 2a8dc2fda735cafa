-- @include member_of
-- @include text
-- @include leave_level
-- @include set_expiry
-- @include call
-- Put a user where he now stands, in place of the entry (if any) he had. The new member goes in before the old one leaves:
-- a key that empties in between would lose its expiry. Give the member.
local function put_entry(ranking, user, standing, tick, old_standing, old_member)
  local member, value = member_of(ranking, user, standing, tick)
  call('ZADD', ranking.entries, text(value), member)
  if ranking.exact then
    if old_member and old_member ~= member then
      call('ZREM', ranking.entries, old_member)
    end
    call('HSET', ranking.ticks, user, string.sub(member, 1, ranking.width))
  end
  if ranking.levels then
    local level = text(standing)
    call('ZADD', ranking.levels, level, level)
    if old_standing and old_standing ~= standing then
      leave_level(ranking, old_standing)
    end
  end
  if not (old_member or ranking.lives) then
    ranking.lives = true
    if call('ZCARD', ranking.entries) == 1 then
      set_expiry(ranking)
    end
  end
  return member
end
