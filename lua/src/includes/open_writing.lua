-- @include parse_rankings
-- @include parse_targets
-- @include parse_rules
-- @include open_board
-- @include check_kind
-- @include check_seasons
-- @include check_fit
-- Open all that a writing call names. KEYS: board, the rankings' keys, then the command's own.
-- ARGV: rules, kind of the ranks wanted or '-', number of rankings, number of target lists, then those, then the command's own.
-- Give a table with what was read and the next key and argument, or nil and an error.
local function open_writing(keys, argv)
  local rules, problem = parse_rules(argv[1])
  if not rules then
    return nil, problem
  end
  local kind, ranking_count, target_count = argv[2], tonumber(argv[3]), tonumber(argv[4])
  if not keys[1] or not kind or not ranking_count or not target_count then
    return nil, 'LBCALL send the board key, rules, a ranking kind or -, and the counts of rankings and target lists'
  end
  local rankings, next_key = parse_rankings(keys, 2, argv, 5, ranking_count)
  if not rankings then
    return nil, next_key
  end
  local targets
  targets, problem = parse_targets(argv, 5 + ranking_count, target_count, rankings)
  if not targets then
    return nil, problem
  end
  local seq, unknown = open_board(keys[1], rankings)
  if not seq then
    return nil, unknown
  end
  for _, ranking in ipairs(rankings) do
    problem = check_fit(rules, ranking) or (kind ~= '-' and check_kind(kind, ranking))
    if problem then
      return nil, problem
    end
  end
  problem = check_seasons(keys[1], rules)
  if problem then
    return nil, problem
  end
  return {
    rules = rules,
    kind = kind,
    rankings = rankings,
    targets = targets,
    seq = seq,
    unknown = unknown,
    next_key = next_key,
    next_arg = 5 + ranking_count + target_count,
  }
end
