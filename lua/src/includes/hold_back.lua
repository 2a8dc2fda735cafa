-- Let rankings hold changes back until write_held: of many changes of a user only the last is written.
-- A ranking may come by several lines, as a season does that ended meanwhile: then they hold together, and the first one writes.
local function hold_back(rankings)
  local firsts = {}
  for _, ranking in ipairs(rankings) do
    local first = firsts[ranking.entries] or ranking
    firsts[ranking.entries] = first
    ranking.held, ranking.holders = first.held or {}, first.holders or {}
  end
end
