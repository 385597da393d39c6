-- Cancels the unsent part of a push. Pages in flight settle normally. A worker sees the state at its next page. What the
-- push superseded waits again once the push is final, unless somebody has it.
-- uses time, lone, kept, endings
-- keys n, q: name meta, hash; the name's unswept pushes, zset by sequence number
-- key p: this push, hash
-- key w: its tasks, hash
-- key pk: the block of kept records to which the push belongs, hash
-- argument id: push id
-- argument at: time of the cancellation, ms; '' = Redis's own time
-- Returns 0: no such push. 1: the push was final already. 2: cancelled before it began; its entry is on its way to a
--   worker, and begins what it finds. 3: cancelled since. 4: the same, and an older push waits again: the caller must add
--   an entry for the name to a stream.
-- Keys found in data: docs/keyspace.md.
unpack_lone(n)
local state = redis.call('HGET', p, 'state')
if not state then
    local _, raw = kept_place(p)
    return raw and redis.call('HEXISTS', pk, raw) or 0
end
if state == 'superseded' then redis.call('HSET', p, 'unwanted', 1) end
if state ~= 'queued' and state ~= 'sending' then return 1 end

local now = at ~= '' and at or string.format('%.0f', redis_now())
end_push(p, w, 'cancelled', now)
if state == 'queued' then
    redis.call('ZREM', q, id)
    redis.call('HSET', p, 'expanded', 1)
end
finish(p, w, now)
if state == 'queued' then return 2 end
return finalPushes[#finalPushes] == '+' and 4 or 3
