-- Put freshly built rankings in the place of the live ones and free the old data in the background.
--
-- Those who listen hear that all may have changed. Nothing is renamed over a living key. A fresh key that does not exist means an empty ranking: the live one goes.
--
-- @access write
-- @key board  hash: the number the board stands at
-- @key shadow  hash: the number the fresh keys stand at, kept by apply while they caught up; it is dropped
-- @key key...  in threes: fresh, live, and a name that is free, to move the live one to
-- @arg extent  whole where the fresh keys are all that the board has: they may be further than it, and it stands at their number then; part where others stay live: both must stand at the same number
-- @arg layout...  in pairs: window and the layout its fresh data has
-- @reply [seq, "swapped"]
-- @reply [seq, "gap", shadow_seq]  the fresh keys are not where they must be (-1: there is no shadow): apply what is missing, then repeat
-- @error LBCALL  the call is malformed
-- @error LBBUSY  a key to move the live one to is taken
-- @complexity O(K) for K keys
-- @include call
-- @include try
-- @include text

local extent = ARGV[1]
if #KEYS < 2 or (#KEYS - 2) % 3 ~= 0 or #ARGV % 2 ~= 1 or (extent ~= 'whole' and extent ~= 'part') then
  return redis.error_reply('LBCALL send board, shadow and keys in threes, and whole or part with layouts in pairs')
end
local seq = tonumber(call('HGET', KEYS[1], 'seq') or 0)
local shadow_seq = tonumber(call('HGET', KEYS[2], 'seq') or -1)
if shadow_seq < seq or (extent == 'part' and shadow_seq > seq) then
  return {seq, 'gap', shadow_seq}
end
for i = 3, #KEYS, 3 do
  if call('EXISTS', KEYS[i + 2]) == 1 then
    return redis.error_reply("LBBUSY '" .. KEYS[i + 2] .. "' exists: drop it or choose another name")
  end
end
for i = 3, #KEYS, 3 do
  local fresh, live, old = KEYS[i], KEYS[i + 1], KEYS[i + 2]
  if call('EXISTS', live) == 1 then
    call('RENAME', live, old)
  end
  if call('EXISTS', fresh) == 1 then
    call('RENAME', fresh, live)
  end
  call('UNLINK', old)
end
call('HSET', KEYS[1], 'seq', shadow_seq)
for i = 2, #ARGV, 2 do
  call('HSET', KEYS[1], 'layout:' .. ARGV[i], ARGV[i + 1])
end
call('UNLINK', KEYS[2])
try('PUBLISH', KEYS[1] .. ':@live', text(shadow_seq))
return {shadow_seq, 'swapped'}
