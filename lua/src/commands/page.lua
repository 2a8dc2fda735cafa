-- Read entries by their place in the list, best first.
--
-- @access read
-- @key board  hash: the number the board stands at, the layouts of its windows
-- @key ranking...  the ranking's keys, see "rankings" in the manifest
-- @arg ranking  the ranking line
-- @arg kind  how ties are numbered: sparse, unique, modified or dense
-- @arg offset  entries to pass over
-- @arg limit  entries to give
-- @reply [seq, total, user, score, time, rank, ...]  time is nil where ties are broken by member
-- @error LBCALL  the call is malformed
-- @error LBLAYOUT  the window's data was written under other rules
-- @error LBDENSE  dense ranks were asked for where no levels are kept
-- @complexity O(log N + limit)
-- @include open_page
-- @include put_rows
-- @include call

local ranking, seq, counts = open_page(KEYS, ARGV, {3, 4})
if not ranking then
  return redis.error_reply(seq)
end
local total = call('ZCARD', ranking.entries)
return put_rows({seq, total}, ranking, ARGV[2], counts[1], math.min(total, counts[1] + counts[2]))
