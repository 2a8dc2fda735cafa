-- The words that may stand in a layout, and the widths in bytes that a tick may have.
local layout_words = {
  packed = true,
  exact = true,
  desc = true,
  asc = true,
  first = true,
  last = true,
  member = true,
  integer = true,
  float = true,
  levels = true,
  ['-'] = true,
  ['4'] = true,
  ['6'] = true,
  ['7'] = true,
}
