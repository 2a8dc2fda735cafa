-- @include call
-- Store the number the board now stands at, and the layouts of windows written for the first time.
local function close_writing(board, opened, seq)
  if seq ~= opened.seq then
    call('HSET', board, 'seq', seq, unpack(opened.unknown))
  end
end
