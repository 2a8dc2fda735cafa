-- Read the best of a ranking, and for given users where they stand, with the entries directly above and below.
--
-- @access read
-- @key board  hash: the number the board stands at, the layouts of its windows
-- @key ranking...  the ranking's keys, see "rankings" in the manifest
-- @arg ranking  the ranking line
-- @arg kind  how ties are numbered: sparse, unique, modified or dense
-- @arg top  entries to give from the top
-- @arg user...  the users, at most 1000
-- @reply [seq, total, top, standing...]  top: [user, score, time, rank, ...], best first, time is nil where ties are broken by member; standing: for each user [score, time, rank, percentile, user, score, time, rank, user, score, time, rank] of himself, the entry above and the one below, nil where there is none; nil in place of the list where the user is not ranked
-- @error LBCALL  the call is malformed
-- @error LBLAYOUT  the window's data was written under other rules
-- @error LBDENSE  dense ranks were asked for where no levels are kept
-- @complexity O(top + U * log N) for U users
-- @include open_page
-- @include put_rows
-- @include find_members
-- @include describe_around
-- @include call

local ranking, seq, counts = open_page(KEYS, ARGV, {3})
if not ranking then
  return redis.error_reply(seq)
end
local kind, users = ARGV[2], #ARGV - 3
if users > 1000 then
  return redis.error_reply('LBCALL ' .. users .. ' users are too many: send at most 1000 a call')
end
local total = call('ZCARD', ranking.entries)
local reply = {seq, total, put_rows({}, ranking, kind, 0, math.min(total, counts[1]))}
if users == 0 then
  return reply
end
local members, values = find_members(ranking, ARGV, 4)
local known = {}
local known_better = kind == 'sparse' and known or {}
for i = 1, users do
  reply[3 + i] = values[i] and describe_around(ranking, kind, total, members[i], known, known_better)
end
return reply
