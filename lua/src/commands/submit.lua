-- Fold a batch of submissions into every ranking they touch, each submission whole and once.
--
-- Items are taken in order. One that is refused changes nothing and stops no other. An id that was seen before
-- changes nothing and is answered with the user's scores and ranks as they stand.
--
-- @access write
-- @key board  hash: the number the board stands at, the layouts of its windows, its seasons; where there is a journal, the least number that it may give others behind, and the time before which it takes nothing
-- @key rankings...  for each ranking its keys, see "rankings" in the manifest
-- @key journal?  stream: gets one entry for each accepted submission; only where the terms have its limit
-- @key events?  stream: gets one entry for each accepted submission, and older ones leave it; only where the terms name its start
-- @key signals...  strings, one for each ranking in their order: there while a change of it is not signalled again; only where the terms have an interval
-- @key buckets...  hashes in groups: the bucket an id goes to, the other one it may be in and, only where the rules limit submissions a minute, the one that counts those of this minute
-- @arg rules  see "rules" in the manifest
-- @arg kind  ranking kind of the ranks in the receipts, or - for receipts without ranks
-- @arg rankings  number of ranking lines
-- @arg targets  number of target lists
-- @arg ranking...  one line for each ranking
-- @arg target...  the rankings a submission touches, by number: "1 2 4"
-- @arg terms  journal limit, least number, start of the events and interval of signals: see "terms" in the manifest
-- @arg item...  tab-separated: user, id (may be empty), group of buckets (from 1; 0 where neither id nor rate needs one), ms at which that bucket is forgotten, points, time in us, update (may be empty), target list (from 1; 0 where every window is closed, to learn whether the id counted before), data: a text of the caller's for the journal, and behind its first tab the segments for the events, with tabs between
-- @reply [seq, receipt...]  one receipt an item: "accepted NUMBER CHANGES", "duplicate - CHANGES" or "refused CODE what is wrong"; CHANGES see "receipt" in the manifest
-- @error LBCALL  the call is malformed
-- @error LBLAYOUT  a window's data was written under other rules
-- @error LBSEASON  another season is running
-- @error LBDENSE  dense ranks were asked for where no levels are kept
-- @error LBJOURNAL  the journal is full
-- @error LBBEHIND  the board stands before the least number of the terms, or of its own: it has lost events, or is held
-- @error LBPAST  the call was planned at a time that the log takes nothing of any more
-- @refusal LBCALL  the item is malformed
-- @refusal LBNUMBER  points or time are not an exact number
-- @refusal LBUPDATE  the board does not allow this update
-- @refusal LBTIME  the time lies outside a period
-- @refusal LBRANGE  the score would leave the board's range
-- @refusal LBSEGMENT  the board has its full number of segment values
-- @refusal LBRATE  the user has had as many submissions counted in this minute as the board allows
-- @refusal LBCLOSED  no window takes the submission any more, and its id did not count before
-- @refusal LBCONFLICT  the id was used with other points or another update
-- @complexity O(I * R * log N) for I items touching R rankings of N members
-- @include open_writing
-- @include parse_points
-- @include plan_submission
-- @include write_submission
-- @include standing_receipt
-- @include recall_id
-- @include find_id
-- @include rate_refusal
-- @include count_rate
-- @include open_terms
-- @include tell_of_event
-- @include close_writing
-- @include text

local opened, problem = open_writing(KEYS, ARGV)
if not opened then
  return redis.error_reply(problem)
end
local rules, kind, targets = opened.rules, opened.kind, opened.targets
local items = #ARGV - opened.next_arg
local terms
terms, problem = open_terms(KEYS, opened, ARGV[opened.next_arg], items)
if not terms then
  return redis.error_reply(problem)
end
local group_size = rules.per_minute and 3 or 2
local before_buckets = terms.next_key - group_size

local seq, reply = opened.seq, {0}

local function take(item)
  local user, id, bucket, forget_at, digits, time, update, target, data =
    string.match(item, '^([^\t]+)\t([^\t]*)\t(%d+)\t(%d*)\t([^\t]*)\t([^\t]*)\t(%l*)\t(%d+)\t(.*)$')
  local touched = target == '0' and {} or targets[tonumber(target or 0)]
  local newer = before_buckets + group_size * tonumber(bucket or 0)
  local grouped = newer > before_buckets and KEYS[newer + group_size - 1]
  if not touched or ((id ~= '' or rules.per_minute) and not grouped) or (id ~= '' and forget_at == '') then
    return 'refused LBCALL the item is malformed: send it as the manifest describes'
  end
  if update == '' then
    update = rules.update
  end
  local points, at, refusal = parse_points(rules, digits, time, update)
  if not points then
    return 'refused ' .. refusal
  end
  refusal = target == '0' and 'LBCLOSED the submission is too late for every window'
    or plan_submission(touched, rules, user, points, at, update)
    or rate_refusal(rules, KEYS[newer + 2], user)
  local known, fact
  if id ~= '' then
    local field = user .. '\t' .. id
    fact = text(points) .. ' ' .. update
    if refusal then
      known = find_id(KEYS, newer, field)
    else
      known = recall_id(KEYS, newer, field, fact, forget_at)
    end
  end
  if known and known == fact then
    return 'duplicate -' .. standing_receipt(touched, kind, user)
  elseif known then
    return "refused LBCONFLICT submission id '" .. id .. "' was used before for '" .. known .. "', not '" .. fact .. "'"
  elseif refusal then
    return 'refused ' .. refusal
  end
  local changes = write_submission(touched, kind, user)
  count_rate(rules, KEYS[newer + 2], user)
  seq = seq + 1
  local number = text(seq)
  tell_of_event(terms.journal, terms.events, number, 'submit', user, id, text(points), time, update, data)
  return 'accepted ' .. number .. changes
end

for i = 1, items do
  reply[i + 1] = take(ARGV[opened.next_arg + i])
end
close_writing(KEYS[1], opened, seq, terms.interval)
reply[1] = seq
return reply
