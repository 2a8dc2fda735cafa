-- @include call
-- Put an event into the journal and into the stream for others, where they are open. `data` is the caller's: behind its first
-- tab come the event's segments.
-- @wire events the stream for others has one entry an event, with the fields number, kind (submit or remove), user, id, points, at (us), update and segments ("country=NL", with one space between); empty where there is none
-- @wire journal the journal has one entry an event, with the fields number, kind, user, id, points, at, update and data, which is the item's
local function tell_of_event(journal, events, number, kind, user, id, points, at, update, data)
  if journal then
    call('XADD', journal, '*', 'number', number, 'kind', kind, 'user', user, 'id', id, 'points', points, 'at', at,
      'update', update, 'data', data)
  end
  if events then
    local segments = string.gsub(string.match(data, '\t(.*)$') or '', '\t', ' ')
    call('XADD', events.key, 'MINID', '~', events.from, '*', 'number', number, 'kind', kind, 'user', user, 'id', id,
      'points', points, 'at', at, 'update', update, 'segments', segments)
  end
end
