-- Count submissions of users in this minute before they are written to a log, and refuse those above the limit.
--
-- For boards whose log is elsewhere; `submit` counts by itself. Items are taken in order, and one that is refused is not counted.
--
-- @access write
-- @key board  hash: the number the board stands at
-- @key buckets...  hashes that count the submissions of this minute, by user
-- @arg limit  how many submissions of a user are admitted in a minute
-- @arg item...  tab-separated: user, bucket (from 1)
-- @reply [seq, answer...]  one answer an item: "admitted" or "refused CODE what is wrong"
-- @error LBCALL  the call is malformed
-- @refusal LBRATE  as many submissions of the user were admitted in this minute as the board allows
-- @complexity O(I) for I items
-- @include rate_refusal
-- @include count_rate
-- @include whole
-- @include call

local rules = {per_minute = whole(ARGV[1] or '')}
if not KEYS[1] or not rules.per_minute then
  return redis.error_reply('LBCALL send the board key and the limit first')
end
local items = {}
for i = 2, #ARGV do
  local user, bucket = string.match(ARGV[i], '^([^\t]+)\t(%d+)$')
  local counts = user and bucket ~= '0' and KEYS[1 + tonumber(bucket)]
  if not counts then
    return redis.error_reply('LBCALL item ' .. i - 1 .. ' is malformed: send it as the manifest describes')
  end
  items[i - 1] = {user, counts}
end

local reply = {tonumber(call('HGET', KEYS[1], 'seq') or 0)}
for i, item in ipairs(items) do
  local user, counts = item[1], item[2]
  local refusal = rate_refusal(rules, counts, user)
  if not refusal then
    count_rate(rules, counts, user)
  end
  reply[i + 1] = refusal and 'refused ' .. refusal or 'admitted'
end
return reply
