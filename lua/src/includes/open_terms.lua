-- @include open_journal
-- @include open_events
-- @include check_least
-- Open what a call that gives numbers goes by: keys from `next_key` on are the journal and the events, where the line names them.
-- Give a table with the streams, the counts of segment values and the next key, or nil and an error.
-- @wire terms words with one space between, - for none, the last ones may be left out: how many entries the journal may hold; the least number that the board must stand at; the ms from which on events are kept; how many values each segment has that remove was told of (comma-separated)
local function open_terms(keys, next_key, line, seq, items)
  local limit, least, from, values = string.match((line or '') .. ' - - -', '^(%S+) (%S+) (%S+) (%S+)')
  if not limit then
    return nil, 'LBCALL the terms are malformed: send them as the manifest describes'
  end
  local problem = check_least(seq, least)
  if problem then
    return nil, problem
  end
  local journal, events
  journal, problem = open_journal(limit, keys[next_key], items)
  if problem then
    return nil, problem
  end
  next_key = next_key + (journal and 1 or 0)
  events, problem = open_events(from, keys[next_key])
  if problem then
    return nil, problem
  end
  return {journal = journal, events = events, values = values, next_key = next_key + (events and 1 or 0)}
end
