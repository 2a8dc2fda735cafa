-- @include score
-- Read the board's rules for folding, or give nil and an error.
-- @wire rules score_type (integer or float), lowest and highest score, update of items that name none, updates allowed (comma-separated), the seasons thought to be running: "-" to check none, or WINDOW=NAME@START or WINDOW=- for each season window (comma-separated), and, only where the board limits it, how many submissions of a user may count in a minute; words with one space between
local function parse_rules(line)
  local score_type, lowest, highest, update, allowed, seasons, per_minute =
    string.match(line or '', '^(%l+) (%S+) (%S+) (%l+) (%S+) (%S+) ?(%d*)$')
  local rules = score_type and {
    score_type = score_type,
    lowest = score(lowest, score_type),
    highest = score(highest, score_type),
    update = update,
    allowed = {},
    seasons = seasons,
    per_minute = tonumber(per_minute),
  }
  if not rules or not rules.lowest or not rules.highest then
    return nil, 'LBCALL the rules line is malformed: send it as the manifest describes'
  end
  for name in string.gmatch(allowed, '[^,]+') do
    rules.allowed[name] = true
  end
  return rules
end
