-- Read one ranking line and take its keys off KEYS; give the ranking and the index of the next key, or nil.
-- @include is_layout
-- @wire ranking line: window, layout, start, expire, segment, limit; words with one space between
-- @wire layout encoding (packed or exact), order, tie_break, resolution in us, slots, centre (packed) or bytes of a tick (exact), score_type, "levels" or "-", and the window's calendar as one word of the caller's choice: a change of any makes the data unreadable
-- @wire start the period's first microsecond. Times are compared as whole multiples of the resolution since 1970; the tick stored is that number less the one of the start, or for tie_break last the slots less one less that
-- @wire expire ms at which the period's keys expire by themselves, or "-"
-- @wire segment the segment as "NAME=VALUE", or "-"; limit: how many values the segment may have, or "-"
-- @wire rankings keys of one ranking, in this order: entries (zset); ticks (hash) where exact; levels (zset) where kept; segment values (set) where segmented
local function parse_ranking(line, keys, next_key)
  local window, layout, encoding, order, tie_break, resolution, slots, parameter, score_type, levels, start, expire,
    segment, limit = string.match(line, '^(%S+) ((%l+) (%l+) (%l+) (%d+) (%d+) (%-?%d+) (%l+) (%S+) %S+) '
      .. '(%d+) ([%d-]+) (%S+) (%S+)$')
  if not window or not is_layout(encoding, order, tie_break, resolution, slots, parameter, score_type, levels)
    or not (expire == '-' or tonumber(expire)) or not (segment == '-' or tonumber(limit)) then
    return nil
  end
  local ranking = {
    window = window,
    layout = layout,
    exact = encoding == 'exact',
    sign = order == 'desc' and -1 or 1,
    tie_break = tie_break,
    resolution = tonumber(resolution),
    slots = tonumber(slots),
    centre = encoding == 'packed' and slots ~= '1' and tonumber(parameter) or 0,
    span = encoding == 'packed' and tonumber(slots) or 1,
    width = tonumber(parameter),
    score_type = score_type,
    start = tonumber(start),
    first_tick = math.floor(tonumber(start) / tonumber(resolution)),
    expire = expire,
    segment = segment,
    limit = limit,
    entries = keys[next_key],
  }
  next_key = next_key + 1
  if ranking.exact then
    ranking.ticks = keys[next_key]
    next_key = next_key + 1
  end
  if levels == 'levels' then
    ranking.levels = keys[next_key]
    next_key = next_key + 1
  end
  if segment ~= '-' then
    ranking.segment_values = keys[next_key]
    next_key = next_key + 1
  end
  return ranking, next_key
end
