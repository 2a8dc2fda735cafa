-- @include plan_change
-- Work out what a submission does to all its rankings; give a refusal where one of them refuses it.
local function plan_submission(targets, rules, user, points, at, update)
  for i = 1, #targets do
    local refusal = plan_change(targets[i], rules, user, points, at, update)
    if refusal then
      return refusal
    end
  end
  return nil
end
