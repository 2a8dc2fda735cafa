-- @include put_entry
-- @include drop_entry
-- Write what rankings hold back, each user's last change once.
local function write_held(rankings)
  local written = {}
  for _, ranking in ipairs(rankings) do
    local holders = not written[ranking.entries] and ranking.holders or {}
    written[ranking.entries] = true
    for _, user in ipairs(holders) do
      local entry = ranking.held[user]
      if entry.standing then
        put_entry(ranking, user, entry.standing, entry.tick, entry.old_standing, entry.old_member)
      elseif entry.old_standing then
        drop_entry(ranking, user, entry.old_standing, entry.old_member)
      end
    end
    ranking.held, ranking.holders = nil, nil
  end
end
