-- Fragment for scripts that put a push into the name's broadcast queue or take it out. bt: the queue

local function join_broadcast(bt, w, id, seq, retention)
    redis.call('HSET', w, 'bc', 1)
    redis.call('ZADD', bt, seq, id)
    redis.call('PEXPIRE', bt, retention)
end

-- Removes a push from the queue with the outcome `how`. This may finish the push. A broadcast that expires is a dead
-- letter, so the caller puts the push on the app's list first.
-- ps, ws, dls: common prefixes of the p, w and dl keys
local function leave_broadcast(bt, ps, ws, dls, id, how, now)
    if redis.call('EXISTS', ps .. id) == 1 then
        redis.call('HSET', ps .. id, 'bc', how)
        if how == 'expired' then note_expired(dls .. id, 1, now) end
    end
    if redis.call('EXISTS', ws .. id) == 1 then
        redis.call('HDEL', ws .. id, 'bc')
        finish(ps .. id, ws .. id, now)
    end
    redis.call('ZREM', bt, id)
end
