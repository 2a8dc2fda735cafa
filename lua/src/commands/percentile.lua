-- Tell a user's percentile: 100 * (1 - better / total), where better counts the users strictly ahead.
--
-- @access read
-- @key board  hash: the number the board stands at, the layouts of its windows
-- @key ranking...  the ranking's keys, see "rankings" in the manifest
-- @arg ranking  the ranking line
-- @arg user  the user
-- @reply [seq, total, better, percentile]  better and percentile are nil where the user is not ranked
-- @error LBCALL  the call is malformed
-- @error LBLAYOUT  the window's data was written under other rules
-- @complexity O(log N)
-- @include open_reading
-- @include read_entry
-- @include count_better
-- @include percentile_of
-- @include call

local ranking, seq = open_reading(KEYS, ARGV, 2)
if not ranking then
  return redis.error_reply(seq)
end
local total = call('ZCARD', ranking.entries)
local standing = read_entry(ranking, ARGV[2])
if not standing then
  return {seq, total, false, false}
end
local better = count_better(ranking, standing)
return {seq, total, better, percentile_of(better, total)}
