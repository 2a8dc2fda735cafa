-- @include call
-- @include signal_changes
-- Store the number the board now stands at, and the layouts of windows written for the first time; signal what has changed.
local function close_writing(board, opened, seq, interval)
  if seq ~= opened.seq then
    call('HSET', board, 'seq', seq, unpack(opened.unknown))
    if interval then
      signal_changes(board, opened.rankings, interval, seq)
    end
  end
end
