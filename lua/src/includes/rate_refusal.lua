-- @include call
-- Give a refusal where as many submissions of a user have counted in this minute as the board allows.
local function rate_refusal(rules, counts, user)
  if rules.per_minute and tonumber(call('HGET', counts, user) or 0) >= rules.per_minute then
    return 'LBRATE the user has had ' .. rules.per_minute .. ' submissions counted in this minute, which is what the board allows'
  end
  return nil
end
