-- @include call
-- What an id is remembered for, or false. `bucket` is the index of the key of the id's bucket, the other comes behind it.
local function find_id(keys, bucket, field)
  return call('HGET', keys[bucket + 1], field) or call('HGET', keys[bucket], field)
end
