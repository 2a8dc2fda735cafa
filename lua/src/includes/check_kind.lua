-- Give an error where ranks of this kind can't be told from what the ranking keeps.
local function check_kind(kind, ranking)
  if not (kind == 'sparse' or kind == 'unique' or kind == 'modified' or kind == 'dense') then
    return "LBCALL ranking '" .. tostring(kind) .. "' is none of sparse, unique, modified, dense"
  end
  if kind == 'dense' and not ranking.levels then
    return "LBDENSE window '" .. ranking.window .. "' keeps no dense levels: declare the board with dense=True"
  end
  return nil
end
