-- Cancels the unsent part of a push. Pages in flight settle normally. A worker sees the state at its next page. If the
-- push has not begun, the pushes that it superseded wait again.
-- keys n, q: name meta, hash; the name's unswept pushes, zset by sequence number
-- key p: this push, hash
-- key w: its tasks, hash
-- key pk: the block of kept records to which the push belongs, hash
-- argument id: push id
-- argument at: time of the cancellation, ms; '' = Redis's own time
-- arguments retention, ps: how long the data is kept, ms; common prefix of the p keys
-- Returns 0: no such push. 1: the push was final already. 2: cancelled before it began. 3: cancelled during its sweep.
-- Keys found in data: docs/keyspace.md.
unpack_lone(n)
local state = redis.call('HGET', p, 'state')
if not state then
    local _, raw = kept_place(p)
    return raw and redis.call('HEXISTS', pk, raw) or 0
end
if state == 'superseded' then redis.call('HSET', p, 'unwanted', 1) end
if state ~= 'queued' and state ~= 'sending' then return 1 end

-- Queues the pushes again that `by` superseded, except those from before the name's last begun push: a card that shows
-- the newer one must not go back. An entry for this push is on its way to a worker, and begins what it finds.
local begun = tonumber(redis.call('HGET', n, 'begun') or 0)
local function bring_back(by)
    -- A push that supersedes only the name's last push has it in `prev`. In other pushes, `newer` is not `by` for that.
    local replaced, prev = unpack(redis.pcall('HMGET', ps .. by, 'replaced', 'prev'))
    for old in string.gmatch(replaced or prev or '', '%S+') do
        local key = ps .. old
        local values = redis.pcall('HMGET', key, 'seq', 'state', 'superseded_by', 'unwanted', 'resumed', 'tell')
        local seq, was, newer, unwanted, resumed, tell = unpack(values)
        if not values.err and was == 'superseded' and newer == by and not resumed and tonumber(seq) > begun then
            if unwanted then
                bring_back(old)
            else
                redis.call('HSET', key, 'state', 'queued')
                redis.call('HDEL', key, 'superseded_by', 'expanded', 'finished')
                tell_again(key, tell)
                redis.call('ZADD', q, seq, old)
                redis.call('PEXPIRE', q, string.format('%d', retention + NAME_SLACK))
            end
        end
    end
end

local now = at ~= '' and at or string.format('%.0f', redis_now())
end_push(p, w, 'cancelled', now)
if state == 'queued' then
    redis.call('ZREM', q, id)
    redis.call('HSET', p, 'expanded', 1)
    bring_back(id)
end
finish(p, w, now)
return state == 'sending' and 3 or 2
