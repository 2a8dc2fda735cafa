-- Read lists of ranking numbers ('1 2 4'), one per argument, as lists of rankings; nil and an error where one is wrong.
local function parse_targets(argv, first, count, rankings)
  local targets = {}
  for i = 1, count do
    local list = {}
    for digits in string.gmatch(argv[first + i - 1] or '', '%d+') do
      local ranking = rankings[tonumber(digits)]
      if not ranking then
        return nil, 'LBCALL target list ' .. i .. ' names ranking ' .. digits .. ', which the call does not describe'
      end
      list[#list + 1] = ranking
    end
    targets[i] = list
  end
  return targets
end
