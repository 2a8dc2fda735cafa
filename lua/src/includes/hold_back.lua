-- Let rankings hold changes back until write_held: of many changes of a user only the last is written.
local function hold_back(rankings)
  for _, ranking in ipairs(rankings) do
    ranking.held, ranking.holders = {}, {}
  end
end
