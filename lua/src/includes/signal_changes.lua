-- @include call
-- @include try
-- @include text
-- Signal the rankings that the call has changed. Mostly all of them were signalled a moment ago, which one command tells.
-- Who may not publish may still submit.
local function signal_changes(board, rankings, interval, seq)
  local changed, keys = {}, {}
  for _, ranking in ipairs(rankings) do
    if ranking.changed then
      changed[#changed + 1] = ranking
      keys[#keys + 1] = ranking.signal
    end
  end
  if #keys == 0 or (#keys <= 4000 and call('EXISTS', unpack(keys)) == #keys) then
    return
  end
  local told = text(seq)
  for i, ranking in ipairs(changed) do
    if call('SET', keys[i], 1, 'NX', 'PX', interval) then
      told = told .. ' ' .. ranking.entries
    end
  end
  try('PUBLISH', board .. ':@live', told)
end
