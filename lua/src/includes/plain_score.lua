-- @include text
-- The score behind a standing, as text.
local function plain_score(ranking, standing)
  return text(ranking.sign * standing + 0)
end
