-- @include call
-- Look up the members and values of the users in `argv` from an index on, all of them together: at most some 4000.
-- Who is not ranked has no value.
local function find_members(ranking, argv, first)
  local members, ticks = {unpack(argv, first)}, nil
  if ranking.exact then
    ticks = call('HMGET', ranking.ticks, unpack(members))
    for i = 1, #members do
      members[i] = (ticks[i] or '') .. members[i]
    end
  end
  local values = call('ZMSCORE', ranking.entries, unpack(members))
  for i = 1, #members do
    values[i] = (not ticks or ticks[i]) and values[i]
  end
  return members, values
end
