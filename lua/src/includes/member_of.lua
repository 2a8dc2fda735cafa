-- @include tick_bytes
-- The member and value under which Redis keeps a user's entry.
local function member_of(ranking, user, standing, tick)
  if ranking.exact then
    return tick_bytes(tick, ranking.width) .. user, standing
  end
  return user, (standing - ranking.centre) * ranking.span + tick
end
