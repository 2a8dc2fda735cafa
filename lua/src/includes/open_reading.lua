-- @include parse_ranking
-- @include open_board
-- Open the one ranking a read is about: KEYS[1] is the board, then come the ranking's keys; ARGV[1] is its line, and
-- `needed` how many arguments there must be.
-- Give the ranking and the number the board stands at, or nil and an error.
local function open_reading(keys, argv, needed)
  local ranking, next_key = parse_ranking(argv[1] or '', keys, 2)
  if not ranking or #keys ~= next_key - 1 or #argv < needed then
    return nil, 'LBCALL the ranking line, its keys or other arguments are not complete: send them as the manifest describes'
  end
  local seq, problem = open_board(keys[1], {ranking})
  if not seq then
    return nil, problem
  end
  return ranking, seq
end
