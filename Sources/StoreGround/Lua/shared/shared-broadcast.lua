-- Fragment for scripts that put a push into the name's broadcast queue or take it out. bt: the queue
-- uses dead

local function join_broadcast(bt, w, id, seq, retention)
    redis.call('HSET', w, 'bc', 1)
    redis.call('ZADD', bt, seq, id)
    redis.call('PEXPIRE', bt, retention)
end

-- Queues the broadcast of a push that begins, if the name has or wants a channel. A start only notes it for its cards.
-- bc: the name's broadcast channel. push: the fields of its record. set: sets fields of the record
local function begin_broadcast(bc, bt, w, id, push, set, retention)
    local state, channel = unpack(redis.call('HMGET', bc, 'state', 'id'))
    if push.event == 'start' then
        -- All shards and retries of a start use the same channel, even if the name loses it meanwhile.
        if state == 'live' and channel then set('input', channel) end
        return
    end
    -- An operator may have resumed the push. Its broadcast is over if it was delivered or expired.
    local isBroadcast = push.bc == 'delivered' or push.bc == 'expired'
    -- In an app with several platforms the push may be for iOS alone, as the channel is.
    local isForIOS = push.aud == '*' or push.aud == 'p3:ios'
    if not isForIOS or push.cutoff or isBroadcast or (state ~= 'live' and state ~= 'wanted') then return end
    -- Queue the broadcast here, because pushes begin in order. The record's field tells the caller to wake a sender.
    set('bc', 'waiting')
    join_broadcast(bt, w, id, push.seq, retention)
end

-- Removes a push from the queue with the outcome `how`, which may finish the push. If it expires, the caller has put it
-- on the app's list of dead letters before. ps, ws, dls: common prefixes of the p, w and dl keys
local function leave_broadcast(bt, ps, ws, dls, id, how, now, retention)
    if redis.call('EXISTS', ps .. id) == 1 then
        redis.call('HSET', ps .. id, 'bc', how)
        if how == 'expired' then note_expired(dls .. id, 1, now, retention) end
    end
    if redis.call('EXISTS', ws .. id) == 1 then
        redis.call('HDEL', ws .. id, 'bc')
        finish(ps .. id, ws .. id, now)
    end
    redis.call('ZREM', bt, id)
end
