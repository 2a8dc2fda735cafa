-- @include parse_ranking
-- Read `count` ranking lines from ARGV; give the list and the index of the next key, or nil and an error.
local function parse_rankings(keys, next_key, argv, first, count)
  local rankings = {}
  for i = 1, count do
    local line = argv[first + i - 1]
    rankings[i], next_key = parse_ranking(line or '', keys, next_key)
    if not next_key or #keys < next_key - 1 then
      return nil, 'LBCALL ranking line ' .. i .. ' is malformed or lacks a key: send it as the manifest describes'
    end
  end
  return rankings, next_key
end
