-- Read the entries of given users in one or more rankings.
--
-- @access read
-- @key board  hash: the number the board stands at, the layouts of its windows
-- @key rankings...  for each ranking its keys, see "rankings" in the manifest
-- @arg kind  how ties are numbered: sparse, unique, modified or dense
-- @arg percentile  percentile to have percentiles in the reply, or -
-- @arg rankings  number of ranking lines
-- @arg ranking...  one line for each ranking
-- @arg user...  the users
-- @reply [seq, [total, entry...]...]  for each ranking its size and for each user [score, time, rank, percentile], or nil where the user is not ranked; time is nil where ties are broken by member, percentile where not asked for
-- @error LBCALL  the call is malformed
-- @error LBLAYOUT  a window's data was written under other rules
-- @error LBDENSE  dense ranks were asked for where no levels are kept
-- @complexity O(R * U * log N) for R rankings and U users
-- @include parse_rankings
-- @include open_board
-- @include check_kind
-- @include describe_entry
-- @include whole
-- @include call

local kind, with_percentile = ARGV[1], ARGV[2] == 'percentile'
local count = whole(ARGV[3] or '')
if not count or count < 1 or not KEYS[1] then
  return redis.error_reply('LBCALL send the board key and a number of rankings from 1')
end
local rankings, problem = parse_rankings(KEYS, 2, ARGV, 4, count)
if not rankings then
  return redis.error_reply(problem)
end
for _, ranking in ipairs(rankings) do
  problem = check_kind(kind, ranking)
  if problem then
    return redis.error_reply(problem)
  end
end
local seq, unknown = open_board(KEYS[1], rankings)
if not seq then
  return redis.error_reply(unknown)
end
local reply = {seq}
for i, ranking in ipairs(rankings) do
  local total = call('ZCARD', ranking.entries)
  local rows = {total}
  for j = 4 + count, #ARGV do
    rows[#rows + 1] = describe_entry(ranking, kind, with_percentile, total, ARGV[j])
  end
  reply[i + 1] = rows
end
return reply
