-- @include plain_score
-- The changes that rankings carry, as text.
-- @wire receipt CHANGES: for each ranking of the item's target list the old and new score, behind them the old and new rank where a kind was given; - for none; words with one space between
local function describe_changes(targets, kind)
  local words = ''
  for i = 1, #targets do
    local ranking = targets[i]
    local old, new = ranking.old and plain_score(ranking, ranking.old) or '-', ranking.new and plain_score(ranking, ranking.new) or '-'
    if kind == '-' then
      words = words .. ' ' .. old .. ' ' .. new
    else
      words = words .. ' ' .. old .. ' ' .. new .. ' ' .. (ranking.old_rank or '-') .. ' ' .. (ranking.new_rank or '-')
    end
  end
  return words
end
