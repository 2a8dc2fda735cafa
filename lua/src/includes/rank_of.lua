-- @include text
-- @include count_better
-- @include count_through
-- @include call
-- The rank of an entry, ties numbered as `kind` says.
local function rank_of(ranking, kind, standing, member)
  if kind == 'sparse' then
    return count_better(ranking, standing) + 1
  elseif kind == 'unique' then
    return call('ZRANK', ranking.entries, member) + 1
  elseif kind == 'modified' then
    return count_through(ranking, standing)
  end
  return call('ZCOUNT', ranking.levels, '-inf', '(' .. text(standing)) + 1
end
