-- @include open_journal
-- @include open_events
-- @include check_least
-- @include check_numbering
-- @include open_signals
-- Open what a call that gives numbers goes by: keys behind the rankings' are the journal, the events and the signals, where
-- the line names them. Give a table with the streams, the counts of segment values, the interval of signals and the next key, or nil and an error.
-- @wire terms words with one space between, - for none, the last ones may be left out: how many entries the journal may hold; the least number that the board must stand at; the ms from which on events are kept; how many values each segment has that remove was told of (comma-separated), - for none; the ms that lie between two signals of a ranking; where there is a journal the us at which the call was planned: once its log has closed that time (closed_until of the board) it is refused
local function open_terms(keys, opened, line, items)
  local limit, least, from, values, interval, planned_at =
    string.match((line or '') .. ' - - - - -', '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+)')
  if not limit then
    return nil, 'LBCALL the terms are malformed: send them as the manifest describes'
  end
  local problem = check_least(opened.seq, least)
  if problem then
    return nil, problem
  end
  local next_key = opened.next_key
  local journal, events
  journal, problem = open_journal(limit, keys[next_key], items)
  problem = problem or (journal and check_numbering(keys[1], opened.seq, planned_at))
  if problem then
    return nil, problem
  end
  next_key = next_key + (journal and 1 or 0)
  events, problem = open_events(from, keys[next_key])
  if problem then
    return nil, problem
  end
  interval, next_key = open_signals(interval, keys, next_key + (events and 1 or 0), opened.rankings)
  if interval == nil then
    return nil, next_key
  end
  return {journal = journal, events = events, values = values, interval = interval, next_key = next_key}
end
