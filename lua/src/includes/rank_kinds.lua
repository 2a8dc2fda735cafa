-- How ties are numbered: 1 1 3 4, 1 2 3 4, 2 2 3 4, 1 1 2 3.
local rank_kinds = {sparse = true, unique = true, modified = true, dense = true}
