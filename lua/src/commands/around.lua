-- Read a user's entry with those directly above and below. Nobody is given where the user is not ranked.
--
-- @access read
-- @key board  hash: the number the board stands at, the layouts of its windows
-- @key ranking...  the ranking's keys, see "rankings" in the manifest
-- @arg ranking  the ranking line
-- @arg kind  how ties are numbered: sparse, unique, modified or dense
-- @arg user  the user in the middle
-- @arg above  entries to give above
-- @arg below  entries to give below
-- @reply [seq, total, user, score, time, rank, ...]  time is nil where ties are broken by member
-- @error LBCALL  the call is malformed
-- @error LBLAYOUT  the window's data was written under other rules
-- @error LBDENSE  dense ranks were asked for where no levels are kept
-- @complexity O(log N + above + below)
-- @include open_page
-- @include put_rows
-- @include read_entry
-- @include call

local ranking, seq, counts = open_page(KEYS, ARGV, {4, 5})
if not ranking then
  return redis.error_reply(seq)
end
local total = call('ZCARD', ranking.entries)
local _, member = read_entry(ranking, ARGV[3])
if not member then
  return {seq, total}
end
local index = call('ZRANK', ranking.entries, member)
return put_rows({seq, total}, ranking, ARGV[2], math.max(0, index - counts[1]), math.min(total, index + counts[2] + 1))
