-- @include call
-- Give an error where another season runs than the caller thinks.
local function check_seasons(board, rules)
  if rules.seasons == '-' then
    return nil
  end
  for window, expected in string.gmatch(rules.seasons, '([^=,]+)=([^,]+)') do
    local running = call('HGET', board, 'season:' .. window) or '-'
    if running ~= expected then
      return "LBSEASON window '" .. window .. "' runs '" .. running .. "', not '" .. expected
        .. "': read the season again and repeat the call"
    end
  end
  return nil
end
