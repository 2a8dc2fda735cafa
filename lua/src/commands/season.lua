-- Start, end or read a season of a window. Submissions name the season they are for, so none slips into another.
--
-- @access write
-- @key board  hash: the number the board stands at, its seasons: season:WINDOW is the running one as "NAME@START", ended:WINDOW:NAME an ended one as "START-END"
-- @arg window  the window
-- @arg expected  the season that is thought to be running, "NAME@START", or - for none
-- @arg next  the season to run from now on, "NAME@START", or - for none; the same as expected to read only
-- @arg time  now in us: the end of the season that runs
-- @reply [seq, running]  the season that runs now, or -
-- @error LBCALL  the call is malformed
-- @error LBSEASON  another season is running than expected, or the next one was played before
-- @complexity O(1)
-- @include call

local board, window, expected, following, time = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local name = following and string.match(following, '^([^@]+)@%d+$')
if not board or not string.find(time or '', '^%d+$') or not (following == '-' or name) then
  return redis.error_reply('LBCALL send window, expected season, next season as NAME@START or -, and the time')
end
local field = 'season:' .. window
local values = call('HMGET', board, 'seq', field)
local seq, running = tonumber(values[1] or 0), values[2] or '-'
if expected == following then
  return {seq, running}
end
if running ~= expected then
  return redis.error_reply("LBSEASON window '" .. window .. "' runs '" .. running .. "', not '" .. expected
    .. "': end that one first, or read the season again and repeat the call")
end
local ended, start = string.match(running, '^(.+)@(%d+)$')
if name and (name == ended or call('HEXISTS', board, 'ended:' .. window .. ':' .. name) == 1) then
  return redis.error_reply("LBSEASON '" .. name .. "' of window '" .. window .. "' was played before: choose another name")
end
if ended then
  call('HSET', board, 'ended:' .. window .. ':' .. ended, start .. '-' .. time)
  call('HDEL', board, field)
end
if name then
  call('HSET', board, field, following)
end
return {seq, following}
