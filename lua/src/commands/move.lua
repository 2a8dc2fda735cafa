-- Move a user's entry, score and time unchanged, from one band of a ranking to another in the same slot.
--
-- Bands are half-open: lowest <= score < end. The user is counted in one of them at any moment. Repeating a move is safe.
--
-- @access write
-- @key board  hash: the number the board stands at, the layouts of its windows
-- @key source...  the keys of the band to leave, see "rankings" in the manifest
-- @key destination...  the keys of the band to enter
-- @arg source  the ranking line of the band to leave
-- @arg destination  the ranking line of the band to enter
-- @arg user  the user
-- @arg lowest  lowest score of the destination, or - for no bound
-- @arg end  score from which the next band begins, or - for no bound
-- @reply [seq, "moved", score, time]  time is nil where ties are broken by member
-- @reply [seq, "there", score, time]  the user stood in the destination already; a stale entry in the source was dropped
-- @reply [seq, "absent"]  the user is in neither band
-- @error LBCALL  the call is malformed
-- @error LBLAYOUT  a band's data was written under other rules
-- @error LBNUMBER  a bound is not an exact number
-- @error LBBAND  the user's score does not belong in the destination
-- @complexity O(log N)
-- @include parse_rankings
-- @include open_board
-- @include read_entry
-- @include describe_row
-- @include put_entry
-- @include drop_entry
-- @include plain_score
-- @include time_of
-- @include score
-- @include call

local rankings, next_key = parse_rankings(KEYS, 2, ARGV, 1, 2)
if not rankings then
  return redis.error_reply(next_key)
end
local source, destination = rankings[1], rankings[2]
if source.layout ~= destination.layout or source.start ~= destination.start then
  return redis.error_reply('LBCALL both bands must be of the same layout and period')
end
local seq, unknown = open_board(KEYS[1], rankings)
if not seq then
  return redis.error_reply(unknown)
end
local user, lowest, stop = ARGV[3], -math.huge, math.huge
if not ARGV[5] then
  return redis.error_reply('LBCALL send both ranking lines, the user, and the bounds of the destination')
end
if ARGV[4] ~= '-' then
  lowest = score(ARGV[4], source.score_type)
end
if ARGV[5] ~= '-' then
  stop = score(ARGV[5], source.score_type)
end
if not lowest or not stop then
  return redis.error_reply('LBNUMBER the bounds of the band are not exact numbers of type ' .. source.score_type)
end

local standing, member, value = read_entry(source, user)
local there, there_member, there_value = read_entry(destination, user)
if there then
  if standing then
    drop_entry(source, user, standing, member)
  end
  local _, _, there_tick = describe_row(destination, there_member, there_value)
  return {seq, 'there', plain_score(destination, there), time_of(destination, there_tick)}
end
if not standing then
  return {seq, 'absent'}
end
local reached = source.sign * standing
if reached < lowest or reached >= stop then
  return redis.error_reply('LBBAND score ' .. plain_score(source, standing) .. ' is outside the band ' .. ARGV[4] .. ' to ' .. ARGV[5])
end
if #unknown > 0 then
  call('HSET', KEYS[1], unpack(unknown))
end
local _, _, tick = describe_row(source, member, value)
put_entry(destination, user, standing, tick)
drop_entry(source, user, standing, member)
return {seq, 'moved', plain_score(source, standing), time_of(source, tick)}
