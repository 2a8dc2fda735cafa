-- What wrk sends: wrk ... URL -- KIND TAG USERS BATCH RANKS. The kinds are those of benchmarks/open_loop.py:
--   fixed        the URL as it is
--   user         the URL and the number of a user behind it
--   submission   one submission, with an id that no other has
--   batch        BATCH of them; RANKS is true or false
-- TAG tells the ids of one run from those of another. The last line of the output is a JSON object with what was counted.

local threads = 0

function setup(thread)
  threads = threads + 1
  thread:set('number', threads)
end

local function submission(tag, users, sent)
  return string.format('{"user_id":"user%d","points":%d,"submission_id":"%s-%d-%d"}',
    math.random(0, users - 1), math.random(1, 100), tag, number, sent)
end

local function write_batch(tag, users, size, ranks, first)
  local items = {}
  for i = 1, size do
    items[i] = submission(tag, users, first + i)
  end
  return '{"ranks":' .. ranks .. ',"submissions":[' .. table.concat(items, ',') .. ']}'
end

-- Without a function `request` wrk sends the same bytes again and again, so `fixed` has none.
function init(args)
  local kind, tag, users, size, ranks = args[1], args[2], tonumber(args[3]), tonumber(args[4]), args[5]
  local path, sent = wrk.path, 0
  math.randomseed(os.time() + 1000 * number)
  if kind == 'user' then
    request = function()
      return wrk.format('GET', path .. math.random(0, users - 1))
    end
  elseif kind == 'submission' then
    request = function()
      sent = sent + 1
      return wrk.format('POST', path, nil, submission(tag, users, sent))
    end
  elseif kind == 'batch' then
    request = function()
      sent = sent + size
      return wrk.format('POST', path, nil, write_batch(tag, users, size, ranks, sent))
    end
  end
end

function done(summary)
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"seconds":%.6f,"bytes":%d,"connect":%d,"read":%d,"write":%d,"timeout":%d,"status":%d}\n',
    summary.requests, summary.duration / 1e6, summary.bytes,
    errors.connect, errors.read, errors.write, errors.timeout, errors.status))
end
