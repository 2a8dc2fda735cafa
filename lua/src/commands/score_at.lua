-- Tell the score it takes to be at a percentile: the worst score among the entries whose percentile, not rounded, reaches it.
--
-- @access read
-- @key board  hash: the number the board stands at, the layouts of its windows
-- @key ranking...  the ranking's keys, see "rankings" in the manifest
-- @arg ranking  the ranking line
-- @arg tenths  the percentile in tenths: 0 to 1000
-- @reply [seq, total, score]  score is nil where the ranking is empty
-- @error LBCALL  the call is malformed
-- @error LBLAYOUT  the window's data was written under other rules
-- @complexity O(log N)
-- @include open_reading
-- @include describe_row
-- @include plain_score
-- @include whole
-- @include call

local ranking, seq = open_reading(KEYS, ARGV, 2)
if not ranking then
  return redis.error_reply(seq)
end
local tenths = whole(ARGV[2])
if not tenths or tenths < 0 or tenths > 1000 then
  return redis.error_reply('LBCALL the percentile must be 0 to 1000 tenths')
end
local total = call('ZCARD', ranking.entries)
if total == 0 then
  return {seq, 0, false}
end
local index = math.min(total - 1, math.floor(total * (1000 - tenths) / 1000))
local row = call('ZRANGE', ranking.entries, index, index, 'WITHSCORES')
local _, standing = describe_row(ranking, row[1], row[2])
return {seq, total, plain_score(ranking, standing)}
