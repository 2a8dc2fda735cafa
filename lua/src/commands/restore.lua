-- Load entries in bulk into keys beside the live ones.
--
-- Each user is given once; giving the same row again is harmless.
--
-- @access write
-- @key rankings...  the fresh ranking's keys, see "rankings" in the manifest; the same slot as the board
-- @arg ranking  the ranking line
-- @arg row...  tab-separated: user, score, time in us
-- @reply [total]  the size of the fresh ranking
-- @error LBCALL  the call is malformed
-- @error LBNUMBER  a score or time is not an exact number; nothing of the call was loaded
-- @error LBRANGE  a score does not fit into the layout; nothing of the call was loaded
-- @error LBTIME  a time lies outside the period; nothing of the call was loaded
-- @complexity O(I * log N) for I rows
-- @include parse_ranking
-- @include member_of
-- @include tick_of
-- @include text
-- @include call_in_chunks
-- @include set_expiry
-- @include score
-- @include whole
-- @include call

local ranking, next_key = parse_ranking(ARGV[1] or '', KEYS, 1)
if not ranking or #KEYS ~= next_key - 1 then
  return redis.error_reply('LBCALL the ranking line is malformed or its keys are not complete: send both as the manifest describes')
end
local entries, ticks, levels = {}, {}, {}
local function push(list, one, other)
  list[#list + 1] = one
  list[#list + 1] = other
end
for i = 2, #ARGV do
  local user, digits, time = string.match(ARGV[i], '^([^\t]+)\t([^\t]+)\t(%d+)$')
  if not user then
    return redis.error_reply('LBCALL row ' .. (i - 1) .. ' is malformed: send it as the manifest describes')
  end
  local reached, at = score(digits, ranking.score_type), whole(time)
  if not reached or not at then
    return redis.error_reply("LBNUMBER row " .. (i - 1) .. " has no exact score and time: '" .. digits .. "', '" .. time .. "'")
  end
  local tick = tick_of(ranking, at)
  if not tick then
    return redis.error_reply('LBTIME row ' .. (i - 1) .. ": " .. time .. ' lies outside the period')
  end
  local standing = ranking.sign * reached + 0
  local member, value = member_of(ranking, user, standing, tick)
  if math.abs(value) > 9007199254740991 and ranking.span > 1 then
    return redis.error_reply('LBRANGE row ' .. (i - 1) .. ': score ' .. digits .. ' does not fit into the layout')
  end
  push(entries, value, member)
  if ranking.exact then
    push(ticks, user, string.sub(member, 1, ranking.width))
  end
  if ranking.levels then
    push(levels, text(standing), text(standing))
  end
end
call_in_chunks('ZADD', ranking.entries, entries)
call_in_chunks('HSET', ranking.ticks, ticks)
call_in_chunks('ZADD', ranking.levels, levels)
if ranking.segment_values and #entries > 0 then
  call('SADD', ranking.segment_values, ranking.segment)
end
set_expiry(ranking)
return {call('ZCARD', ranking.entries)}
