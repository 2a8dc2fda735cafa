-- Take users out of the rankings given. A user who stands in none of them is no event and takes no number.
--
-- @access write
-- @key board  hash: the number the board stands at, the layouts of its windows, its seasons; where there is a journal, the least number that it may give others behind, and the time before which it takes nothing
-- @key rankings...  for each ranking its keys, see "rankings" in the manifest
-- @key journal?  stream: gets one entry for each user removed; only where the terms have its limit
-- @key events?  stream: gets one entry for each user removed, and older ones leave it; only where the terms name its start
-- @key signals...  strings, one for each ranking in their order: there while a change of it is not signalled again; only where the terms have an interval
-- @key values...  sets: the values of each segment; only where the terms have their counts
-- @arg rules  see "rules" in the manifest
-- @arg kind  ranking kind of the ranks in the receipts, or - for receipts without ranks
-- @arg rankings  number of ranking lines
-- @arg targets  number of target lists
-- @arg ranking...  one line for each ranking
-- @arg target...  the rankings to leave, by number: "1 2 4"
-- @arg terms  journal limit, least number, start of the events, counts of segment values and interval of signals: see "terms" in the manifest
-- @arg item...  tab-separated: user, time in us, target list (from 1), data as submit takes it
-- @reply [seq, receipt...]  one receipt an item: "removed NUMBER CHANGES" or "absent - CHANGES"; CHANGES see "receipt" in the manifest
-- @error LBCALL  the call is malformed
-- @error LBLAYOUT  a window's data was written under other rules
-- @error LBSEASON  another season is running
-- @error LBDENSE  dense ranks were asked for where no levels are kept
-- @error LBJOURNAL  the journal is full
-- @error LBBEHIND  the board stands before the least number of the terms, or of its own: it has lost events, or is held
-- @error LBPAST  the call was planned at a time that the log takes nothing of any more
-- @error LBMOVED  a segment has got values that the caller was not told of
-- @complexity O(I * R * log N) for I users and R rankings of N members
-- @include open_writing
-- @include remove_user
-- @include close_writing
-- @include open_terms
-- @include check_values
-- @include tell_of_event
-- @include text

local opened, problem = open_writing(KEYS, ARGV)
if not opened then
  return redis.error_reply(problem)
end
local items = #ARGV - opened.next_arg
local terms
terms, problem = open_terms(KEYS, opened, ARGV[opened.next_arg], items)
problem = problem or check_values(KEYS, terms.next_key, terms.values)
if problem then
  return redis.error_reply(problem)
end
local parsed = {}
for i = 1, items do
  local user, time, target, data = string.match(ARGV[opened.next_arg + i], '^([^\t]+)\t(%d+)\t(%d+)\t(.*)$')
  local touched = opened.targets[tonumber(target or 0)]
  if not touched then
    return redis.error_reply('LBCALL item ' .. i .. ' is malformed: send it as the manifest describes')
  end
  parsed[i] = {user = user, time = time, touched = touched, data = data}
end

local seq, reply = opened.seq, {0}
for i, item in ipairs(parsed) do
  local changes, found = remove_user(item.touched, opened.kind, item.user)
  if found then
    seq = seq + 1
    local number = text(seq)
    tell_of_event(terms.journal, terms.events, number, 'remove', item.user, '', '', item.time, '', item.data)
    reply[i + 1] = 'removed ' .. number .. changes
  else
    reply[i + 1] = 'absent -' .. changes
  end
end
close_writing(KEYS[1], opened, seq, terms.interval)
reply[1] = seq
return reply
