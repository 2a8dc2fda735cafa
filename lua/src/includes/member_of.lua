-- @include tick_bytes
-- The member and value under which Redis keeps a user's entry.
local function member_of(ranking, user, standing, tick)
  if ranking.exact then
    if tick ~= ranking.last_tick then
      ranking.last_tick, ranking.last_bytes = tick, tick_bytes(tick, ranking.width)
    end
    return ranking.last_bytes .. user, standing
  end
  return user, (standing - ranking.centre) * ranking.span + tick
end
