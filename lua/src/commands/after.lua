-- Read the entries behind a position, given by score, time and user, whether or not an entry still stands there.
--
-- @access read
-- @key board  hash: the number the board stands at, the layouts of its windows
-- @key ranking...  the ranking's keys, see "rankings" in the manifest
-- @arg ranking  the ranking line
-- @arg kind  how ties are numbered: sparse, unique, modified or dense
-- @arg score  score of the position
-- @arg time  time of the position in us, or - where ties are broken by member
-- @arg user  user of the position
-- @arg lowest  lowest score to give, or -
-- @arg highest  highest score to give, or -
-- @arg limit  entries to give
-- @reply [seq, total, user, score, time, rank, ...]  time is nil where ties are broken by member
-- @error LBCALL  the call is malformed
-- @error LBLAYOUT  the window's data was written under other rules
-- @error LBDENSE  dense ranks were asked for where no levels are kept
-- @error LBNUMBER  score, time or a bound is not an exact number
-- @error LBTIME  the time lies outside the period
-- @complexity O(log N + limit), times log T where the entry is gone and T others have its score and tick
-- @include open_page
-- @include put_rows
-- @include index_after
-- @include score_bounds
-- @include tick_of
-- @include score
-- @include whole
-- @include call

local ranking, seq, counts = open_page(KEYS, ARGV, {8})
if not ranking then
  return redis.error_reply(seq)
end
local reached = score(ARGV[3], ranking.score_type)
local at = ranking.tie_break == 'member' and 0 or whole(ARGV[4])
if not reached or not at then
  return redis.error_reply("LBNUMBER position '" .. ARGV[3] .. ' ' .. ARGV[4] .. "' is not a score and a time")
end
local tick = tick_of(ranking, at)
if not tick then
  return redis.error_reply("LBTIME " .. ARGV[4] .. " lies outside the period of window '" .. ranking.window .. "'")
end
local total = call('ZCARD', ranking.entries)
local from, stop = score_bounds(ranking, total, ARGV[6], ARGV[7])
if not from then
  return redis.error_reply(stop)
end
from = math.max(from, index_after(ranking, ranking.sign * reached + 0, tick, ARGV[5]))
return put_rows({seq, total}, ranking, ARGV[2], from, math.min(stop, from + counts[1]))
