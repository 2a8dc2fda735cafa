-- @include call
-- Give an error where a season that the call writes to is not the one running on the board.
local function check_seasons(board, rankings)
  for _, ranking in ipairs(rankings) do
    if ranking.season ~= '-' then
      local running = call('HGET', board, 'season:' .. ranking.window) or '-'
      if running ~= ranking.season then
        return "LBSEASON window '" .. ranking.window .. "' runs '" .. running .. "', not '" .. ranking.season
          .. "': read the season again and repeat the call"
      end
    end
  end
  return nil
end
