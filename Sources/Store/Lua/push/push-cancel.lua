-- Cancels the unsent part of a push. Pages in flight settle normally. A worker sees the state at its next page.
-- key q: the name's unswept pushes, zset
-- key p: this push, hash
-- key w: its tasks, hash
-- argument id: push id
-- argument at: time of the cancellation, ms; '' = Redis's own time
-- Returns 0: no such push. 1: the push was final already. 2: cancelled before it began. 3: cancelled during its sweep.
-- Keys found in data: docs/keyspace.md.
local state = redis.call('HGET', p, 'state')
if not state then return 0 end
if state ~= 'queued' and state ~= 'sending' then return 1 end
local now = at ~= '' and at or string.format('%.0f', redis_now())
end_push(p, w, 'cancelled', now)
if state == 'queued' then
    redis.call('ZREM', q, id)
    redis.call('HSET', p, 'expanded', 1)
end
finish(p, w, now)
return state == 'sending' and 3 or 2
