-- Fragment for scripts that queue a push for late joiners after its sweep.
-- uses queue

-- Stores the channel's retry `queue`. h, r: retry queues and their due times. isNew: the channel had no queue
local function store_late_queue(h, r, channel, queue, isNew, now, life)
    redis.call('HSET', h, channel, queue)
    if isNew then redis.call('ZADD', r, now, channel) end
    redis.call('PEXPIRE', h, life)
    redis.call('PEXPIRE', r, life)
end

-- Stores the queue and counts the channel as a target of its last push, which is `sending` again.
-- p, w: that push's record and tasks. platform: of the channel
local function queue_late_joiner(p, w, h, r, channel, platform, queue, isNew, now, life)
    redis.call('HSET', p, 'state', 'sending')
    redis.call('HDEL', p, 'finished')
    redis.call('HINCRBY', p, 'targets', 1)
    if platform > 0 then redis.call('HINCRBY', p, 'targets@' .. platform, 1) end
    redis.call('HINCRBY', p, 'late', 1)
    redis.call('HINCRBY', w, 'wait', 1)
    if platform_of(queue) > 0 then redis.call('HINCRBY', w, 'wait@' .. platform_of(queue), 1) end
    redis.call('PEXPIRE', w, life)
    store_late_queue(h, r, channel, queue, isNew, now, life)
end
