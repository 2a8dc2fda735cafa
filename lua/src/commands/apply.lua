-- Fold entries a..b of a numbered log into the rankings, in order and each once.
--
-- Entries the board already has are skipped. Where the board stands before a-1, nothing is done and the answer is "gap".
-- An entry refused by the rules still takes its number: replaying the log gives the same refusal. Where no ranks are asked for,
-- a user's entries are folded together, one by one and in order, and each ranking is written once for all of them.
--
-- @access write
-- @key board  hash: the number the board stands at, the layouts of its windows, its seasons
-- @key rankings...  for each ranking its keys, see "rankings" in the manifest
-- @key events?  stream: gets one entry for each event that is taken, and older ones leave it; only where their start is named
-- @key signals...  strings, one for each ranking in their order: there while a change of it is not signalled again; only where their interval is named
-- @arg rules  see "rules" in the manifest
-- @arg kind  ranking kind of the ranks in the receipts, or - for receipts without ranks
-- @arg rankings  number of ranking lines
-- @arg targets  number of target lists
-- @arg ranking...  one line for each ranking
-- @arg target...  the rankings an entry touches, by number: "1 2 4"
-- @arg first  the number of the first entry; the ms from which on events are kept, - for none; the ms that lie between two signals of a ranking, see "signals" in the manifest; one space between, the last ones may be left out
-- @arg entry...  tab-separated: submit or remove, user, points, time in us, update (may be empty), target list (from 1), and, only where events are told of, id (may be empty) and data as submit takes them; or the word "skip" for an entry that touches nothing
-- @reply [seq, "applied", receipt...]  one receipt an entry: "accepted NUMBER CHANGES", "removed NUMBER CHANGES", "refused CODE what is wrong", or "skipped" for one the board already had
-- @reply [seq, "gap"]  entries between seq and first are missing: apply those before
-- @error LBCALL  the call is malformed
-- @error LBLAYOUT  a window's data was written under other rules
-- @error LBSEASON  another season is running
-- @error LBDENSE  dense ranks were asked for where no levels are kept
-- @refusal LBNUMBER  points or time are not an exact number
-- @refusal LBUPDATE  the board does not allow this update
-- @refusal LBTIME  the time lies outside a period
-- @refusal LBRANGE  the score would leave the board's range
-- @refusal LBSEGMENT  the board has its full number of segment values
-- @complexity O(I * R * log N) for I entries touching R rankings of N members
-- @include open_writing
-- @include parse_points
-- @include plan_submission
-- @include write_submission
-- @include remove_user
-- @include hold_back
-- @include write_held
-- @include close_writing
-- @include open_events
-- @include open_signals
-- @include tell_of_event
-- @include text
-- @include whole

local opened, problem = open_writing(KEYS, ARGV)
if not opened then
  return redis.error_reply(problem)
end
local rules, kind, targets = opened.rules, opened.kind, opened.targets
local digits, from, interval = string.match((ARGV[opened.next_arg] or '') .. ' - -', '^(%d+) (%S+) (%S+)')
local first = whole(digits or '')
if not first or first < 1 then
  return redis.error_reply('LBCALL the number of the first entry must be 1 or more')
end
local events
events, problem = open_events(from, KEYS[opened.next_key])
if problem then
  return redis.error_reply(problem)
end
interval, problem = open_signals(interval, KEYS, opened.next_key + (events and 1 or 0), opened.rankings)
if interval == nil then
  return redis.error_reply(problem)
end
if opened.seq < first - 1 then
  return {opened.seq, 'gap'}
end

local parsed = {}
for i = opened.next_arg + 1, #ARGV do
  local action, user, points, time, update, target, id, data =
    string.match(ARGV[i], '^(%l+)\t([^\t]+)\t([^\t]*)\t([^\t]*)\t(%l*)\t(%d+)\t?([^\t]*)\t?(.*)$')
  local entry = {
    action = action or ARGV[i],
    user = user,
    digits = points,
    time = time,
    update = update ~= '' and update or rules.update,
    touched = targets[tonumber(target or 0)],
    id = id,
    data = data,
  }
  if entry.action ~= 'skip' and not (entry.touched and (action == 'submit' or action == 'remove')) then
    return redis.error_reply('LBCALL entry ' .. text(first + #parsed) .. ' is malformed: send it as the manifest describes')
  end
  parsed[#parsed + 1] = entry
end

local function take(entry, number)
  if entry.action == 'skip' then
    return 'accepted ' .. number
  elseif entry.action == 'remove' then
    tell_of_event(nil, events, number, 'remove', entry.user, '', '', entry.time, '', entry.data)
    return 'removed ' .. number .. remove_user(entry.touched, kind, entry.user)
  end
  local points, at, refusal = parse_points(rules, entry.digits, entry.time, entry.update)
  if points then
    refusal = plan_submission(entry.touched, rules, entry.user, points, at, entry.update)
  end
  if refusal then
    return 'refused ' .. refusal
  end
  local changes = write_submission(entry.touched, kind, entry.user)
  tell_of_event(nil, events, number, 'submit', entry.user, entry.id, text(points), entry.time, entry.update, entry.data)
  return 'accepted ' .. number .. changes
end

if kind == '-' then
  hold_back(opened.rankings)
end
local seq, reply = opened.seq, {0, 'applied'}
for i, entry in ipairs(parsed) do
  local number = first + i - 1
  if number > seq then
    reply[i + 2] = take(entry, text(number))
    seq = number
  else
    reply[i + 2] = 'skipped'
  end
end
write_held(opened.rankings)
close_writing(KEYS[1], opened, seq, interval)
reply[1] = seq
return reply
