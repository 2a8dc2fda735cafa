-- Close a time: a board with a journal takes nothing any more that was planned before it. A later time stays.
--
-- @access write
-- @key board  hash: the number the board stands at, and the time before which it takes nothing
-- @arg time  us before which nothing is taken from now on
-- @reply [seq, closed_until]  all events of a time before that have numbers up to seq
-- @error LBCALL  the call is malformed
-- @complexity O(1)
-- @include call
-- @include text
-- @include whole

local time = whole(ARGV[1] or '')
if #KEYS ~= 1 or not time or time < 0 then
  return redis.error_reply('LBCALL send the board key, and the us before which nothing is taken any more')
end
local values = call('HMGET', KEYS[1], 'seq', 'closed_until')
local closed_until = tonumber(values[2] or 0)
if time > closed_until then
  closed_until = time
  call('HSET', KEYS[1], 'closed_until', text(time))
end
return {tonumber(values[1] or 0), closed_until}
