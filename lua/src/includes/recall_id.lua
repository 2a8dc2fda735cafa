-- @include call
-- Look a submission id up in the two buckets it can lie in, and remember it where it is new.
-- Give what was remembered before, or nil. `bucket` is the index of the key of the id's bucket, the other comes behind it.
local function recall_id(keys, bucket, field, fact, forget_at)
  local known = call('HGET', keys[bucket + 1], field)
  if known then
    return known
  end
  if call('HSETNX', keys[bucket], field, fact) == 0 then
    return call('HGET', keys[bucket], field)
  end
  if call('HLEN', keys[bucket]) == 1 then
    call('PEXPIREAT', keys[bucket], forget_at)
  end
  return nil
end
