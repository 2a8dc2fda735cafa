-- Fold entries a..b of a numbered log into the rankings, in order and each once.
--
-- Entries the board already has are skipped. Where the board stands before a-1, nothing is done and the answer is "gap".
-- An entry refused by the rules still takes its number: replaying the log gives the same refusal.
--
-- @access write
-- @key board  hash: the number the board stands at, the layouts of its windows, its seasons
-- @key rankings...  for each ranking its keys, see "rankings" in the manifest
-- @arg rules  see "rules" in the manifest
-- @arg kind  ranking kind of the ranks in the receipts, or - for receipts without ranks
-- @arg rankings  number of ranking lines
-- @arg targets  number of target lists
-- @arg ranking...  one line for each ranking
-- @arg target...  the rankings an entry touches, by number: "1 2 4"
-- @arg first  the number of the first entry
-- @arg entry...  tab-separated: submit or remove, user, points, time in us, update (may be empty), target list (from 1); or the word "skip" for an entry that touches nothing
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
-- @include close_writing
-- @include text
-- @include whole

local opened, problem = open_writing(KEYS, ARGV)
if not opened then
  return redis.error_reply(problem)
end
local rules, kind, targets = opened.rules, opened.kind, opened.targets
local first = whole(ARGV[opened.next_arg] or '')
if not first or first < 1 then
  return redis.error_reply('LBCALL the number of the first entry must be 1 or more')
end
if opened.seq < first - 1 then
  return {opened.seq, 'gap'}
end

local parsed = {}
for i = opened.next_arg + 1, #ARGV do
  local action, user, digits, time, update, target =
    string.match(ARGV[i], '^(%l+)\t([^\t]+)\t([^\t]*)\t([^\t]*)\t(%l*)\t(%d+)$')
  local entry = {
    action = action or ARGV[i],
    user = user,
    digits = digits,
    time = time,
    update = update ~= '' and update or rules.update,
    touched = targets[tonumber(target or 0)],
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
    return 'removed ' .. number .. remove_user(entry.touched, kind, entry.user)
  end
  local points, at, refusal = parse_points(rules, entry.digits, entry.time, entry.update)
  if points then
    refusal = plan_submission(entry.touched, rules, entry.user, points, at, entry.update)
  end
  if refusal then
    return 'refused ' .. refusal
  end
  return 'accepted ' .. number .. write_submission(entry.touched, kind, entry.user)
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
close_writing(KEYS[1], opened, seq)
reply[1] = seq
return reply
