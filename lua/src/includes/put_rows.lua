-- @include describe_row
-- @include rank_of
-- @include time_of
-- @include plain_score
-- @include count_through
-- @include call
-- Put the entries from index `from` to before index `stop` behind what a reply has: user, score, time, rank, ... Give the reply.
-- Only the first and the last tie can reach beyond the page: they are counted, the rest follows from the positions.
local function put_rows(reply, ranking, kind, from, stop)
  if from >= stop then
    return reply
  end
  local rows = call('ZRANGE', ranking.entries, from, stop - 1, 'WITHSCORES')
  local tied, rank, group, behind = nil, nil, 0, #reply
  local function end_group(last, size)
    for i = group, last do
      reply[behind + 4 + 4 * i] = size
    end
  end
  local count = #rows / 2
  for i = 0, count - 1 do
    local user, standing, tick = describe_row(ranking, rows[2 * i + 1], rows[2 * i + 2])
    if kind == 'unique' then
      rank = from + i + 1
    elseif standing ~= tied then
      if i == 0 and kind ~= 'modified' then
        rank = rank_of(ranking, kind, standing)
      elseif kind == 'sparse' then
        rank = from + i + 1
      elseif kind == 'dense' then
        rank = rank + 1
      else
        end_group(i - 1, from + i)
        group = i
      end
    end
    tied = standing
    local at = behind + 1 + 4 * i
    reply[at], reply[at + 1], reply[at + 2] = user, plain_score(ranking, standing), time_of(ranking, tick)
    reply[at + 3] = rank or 0
  end
  if kind == 'modified' and count > 0 then
    end_group(count - 1, count_through(ranking, tied))
  end
  return reply
end
