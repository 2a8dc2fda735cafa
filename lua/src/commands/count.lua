-- Count the users of a ranking, and those whose score lies between two scores, both included.
--
-- @access read
-- @key board  hash: the number the board stands at, the layouts of its windows
-- @key ranking...  the ranking's keys, see "rankings" in the manifest
-- @arg ranking  the ranking line
-- @arg lowest  lowest score to count, or -
-- @arg highest  highest score to count, or -
-- @reply [seq, total, counted]
-- @error LBCALL  the call is malformed
-- @error LBLAYOUT  the window's data was written under other rules
-- @error LBNUMBER  a bound is not an exact number
-- @complexity O(log N)
-- @include open_reading
-- @include score_bounds
-- @include call

local ranking, seq = open_reading(KEYS, ARGV, 3)
if not ranking then
  return redis.error_reply(seq)
end
local total = call('ZCARD', ranking.entries)
local from, stop = score_bounds(ranking, total, ARGV[2], ARGV[3])
if not from then
  return redis.error_reply(stop)
end
return {seq, total, math.max(0, stop - from)}
