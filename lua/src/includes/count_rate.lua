-- @include call
-- Count a submission of a user in this minute. The hash outlives the minute by one more.
local function count_rate(rules, counts, user)
  if rules.per_minute and call('HINCRBY', counts, user, 1) == 1 and call('HLEN', counts) == 1 then
    call('PEXPIRE', counts, 120000)
  end
end
