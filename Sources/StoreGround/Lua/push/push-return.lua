-- Makes a handed push wait again: the worker that has read its entry does not send it now.
-- uses handed
-- key n: name meta, hash
-- argument entry: the stream entry that the caller has read
-- Returns 1, or 0 if the push is not handed to that entry any more.
-- If the worker dies after this call, the worker that claims the entry begins the push.
local handed = redis.call('HGET', n, 'handed')
if not handed or string.match(handed, '^%d+ %d+ (%S+)') ~= entry then return 0 end
take_back(n, handed, true)
return 1
