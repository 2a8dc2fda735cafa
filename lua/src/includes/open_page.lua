-- @include open_reading
-- @include check_kind
-- @include whole
-- Open a ranking for a page of entries: ARGV[2] is the ranking kind; the arguments at the indexes given are numbers from 0.
-- Give the ranking, the number the board stands at and those numbers, or nil and an error.
local function open_page(keys, argv, count_indexes)
  local ranking, seq = open_reading(keys, argv, count_indexes[#count_indexes])
  if not ranking then
    return nil, seq
  end
  local problem = check_kind(argv[2], ranking)
  local counts = {}
  for i, index in ipairs(count_indexes) do
    counts[i] = whole(argv[index] or '')
    if not counts[i] or counts[i] < 0 then
      problem = 'LBCALL argument ' .. index .. ' must be a whole number from 0'
    end
  end
  if problem then
    return nil, problem
  end
  return ranking, seq, counts
end
