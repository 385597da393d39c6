-- Removes a stopped push from retry queues and keeps the channels, which the stop counted, in its dead letter. The
-- caller does so before it resumes the push, because the push's `wait` does not count these entries.
-- uses time, queue, open
-- key p: the push, hash
-- key dl: the push's dead letter, hash; its channels are in dl:c
-- key r: waiting channels, zset by due time (ms)
-- key h: retry queues, hash
-- key z: open requests, hash
-- argument raw: push id, 16 bytes
-- rest: channels whose retry queues hold the push
-- Returns how many entries were removed.
-- Keys found in data: docs/keyspace.md.
local state, stopped = unpack(redis.call('HMGET', p, 'state', 'stopped'))
if state ~= 'failed' or not stopped or redis.call('EXISTS', dl) == 0 then return 0 end
local now = string.format('%.0f', redis_now())
local collected = 0
for i = rest, #ARGV do
    local channel = ARGV[i]
    local queue = redis.call('HGET', h, channel) or ''
    for position = 1, pushes_in(queue) do
        -- The `end` was delivered, and the entry waits for its removal.
        local isDelivered = position == 1 and end_delivered(queue)
        if push_at(queue, position) == raw and not isDelivered then
            -- Its request may have arrived, and the operator's retry sends it again.
            if is_open_for(z, channel, raw) then
                redis.call('HDEL', z, channel)
                redis.call('HINCRBY', p, 'duplicates', 1)
                redis.call('ZADD', r, now, channel)
            end
            if position == 1 then
                pop(h, r, channel, queue, now)
            else
                redis.call('HSET', h, channel, without(queue, position))
            end
            -- No limit as for other dead letters, because the retry takes these channels soon.
            redis.call('HSET', dl .. ':c', channel, stopped)
            collected = collected + 1
            break
        end
    end
end
redis.call('PEXPIRE', dl .. ':c', math.max(redis.call('PTTL', dl), 1))
return collected
