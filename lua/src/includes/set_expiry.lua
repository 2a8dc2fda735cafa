-- @include call
-- Give a ranking's new keys the time to live that every period key has from its creation ('-' for periods that never end).
local function set_expiry(ranking)
  if ranking.expire == '-' then
    return
  end
  call('PEXPIREAT', ranking.entries, ranking.expire)
  if ranking.exact then
    call('PEXPIREAT', ranking.ticks, ranking.expire)
  end
  if ranking.levels then
    call('PEXPIREAT', ranking.levels, ranking.expire)
  end
end
