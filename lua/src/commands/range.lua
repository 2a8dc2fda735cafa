-- Read the entries whose score lies between two scores, both included, best first.
--
-- @access read
-- @key board  hash: the number the board stands at, the layouts of its windows
-- @key ranking...  the ranking's keys, see "rankings" in the manifest
-- @arg ranking  the ranking line
-- @arg kind  how ties are numbered: sparse, unique, modified or dense
-- @arg lowest  lowest score to give, or -
-- @arg highest  highest score to give, or -
-- @arg offset  entries of the range to pass over
-- @arg limit  entries to give
-- @reply [seq, total, user, score, time, rank, ...]  total counts the whole ranking; time is nil where ties are broken by member
-- @error LBCALL  the call is malformed
-- @error LBLAYOUT  the window's data was written under other rules
-- @error LBDENSE  dense ranks were asked for where no levels are kept
-- @error LBNUMBER  a bound is not an exact number
-- @complexity O(log N + limit)
-- @include open_page
-- @include put_rows
-- @include score_bounds
-- @include call

local ranking, seq, counts = open_page(KEYS, ARGV, {5, 6})
if not ranking then
  return redis.error_reply(seq)
end
local total = call('ZCARD', ranking.entries)
local from, stop = score_bounds(ranking, total, ARGV[3], ARGV[4])
if not from then
  return redis.error_reply(stop)
end
from = from + counts[1]
return put_rows({seq, total}, ranking, ARGV[2], from, math.min(stop, from + counts[2]))
