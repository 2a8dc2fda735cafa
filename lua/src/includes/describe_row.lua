-- @include split_packed
-- @include bytes_tick
-- Take a member and value of the sorted set apart into user, standing and tick.
local function describe_row(ranking, member, value)
  if ranking.exact then
    return string.sub(member, ranking.width + 1), tonumber(value), bytes_tick(member, ranking.width)
  end
  return member, split_packed(ranking, tonumber(value))
end
