-- Removes a stopped push from retry queues and keeps the channels in its dead letter. The channels were counted when
-- the push was stopped. The caller does this before it resumes the push, because the push's `wait` does not count these
-- entries any more.
-- KEYS[1] p: the push, hash
-- KEYS[2] r: waiting channels, zset by due time (ms)
-- KEYS[3] h: retry queues, hash
-- KEYS[4] dl: the push's dead letter, hash; its channels are in dl:c
-- ARGV[1] push id, 16 bytes
-- ARGV[2 ...] channels whose retry queues hold the push
-- Returns how many entries were removed.
-- Keys found in data: docs/keyspace.md.
-- Atomic. Repeating it changes nothing.
local p, r, h, dl = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local push = redis.call('HMGET', p, 'state', 'stopped')
if push[1] ~= 'failed' or not push[2] or redis.call('EXISTS', dl) == 0 then return 0 end
local now = string.format('%.0f', redis_now())
local raw, collected = ARGV[1], 0
for i = 2, #ARGV do
    local channel = ARGV[i]
    local queue = redis.call('HGET', h, channel) or ''
    for position = 1, pushes_in(queue) do
        -- The `end` was delivered, and the entry waits for its removal.
        local isDelivered = position == 1 and end_delivered(queue)
        if push_at(queue, position) == raw and not isDelivered then
            if position == 1 then
                pop(h, r, channel, queue, now)
            else
                redis.call('HSET', h, channel, without(queue, position))
            end
            -- No limit as for other dead letters, because the retry takes these channels soon.
            redis.call('HSET', dl .. ':c', channel, push[2])
            collected = collected + 1
            break
        end
    end
end
redis.call('PEXPIRE', dl .. ':c', math.max(redis.call('PTTL', dl), 1))
return collected
