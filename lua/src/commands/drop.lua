-- Drop keys without blocking: they are gone at once, their memory is freed in the background.
--
-- @access write
-- @key board  hash: the number the board stands at
-- @key key...  the keys to drop
-- @arg window...  windows whose layout is forgotten, so that other rules may use their names; all their data must be among the keys
-- @reply [seq, dropped]  how many of the keys existed
-- @error LBCALL  the call is malformed
-- @complexity O(K) for K keys
-- @include call

if #KEYS < 1 then
  return redis.error_reply('LBCALL send the board key first')
end
local dropped = 0
for i = 2, #KEYS do
  dropped = dropped + call('UNLINK', KEYS[i])
end
for i = 1, #ARGV do
  call('HDEL', KEYS[1], 'layout:' .. ARGV[i])
end
return {tonumber(call('HGET', KEYS[1], 'seq') or 0), dropped}
