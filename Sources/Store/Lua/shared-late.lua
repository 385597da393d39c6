-- Put before scripts that bring late followers a push that was swept before they came (Lua.swift).

-- The channel's line, with the push at its end, is stored as given, and the push counts the channel: it may be over, and is
-- open again. p and w are its record and tasks, h and r the waiting channels.
local function bring(p, w, h, r, channel, line, isNew, now, life)
    redis.call('HSET', p, 'state', 'sending')
    redis.call('HDEL', p, 'finished')
    redis.call('HINCRBY', p, 'targets', 1)
    redis.call('HINCRBY', p, 'late', 1)
    redis.call('HINCRBY', w, 'wait', 1)
    redis.call('PEXPIRE', w, life)
    redis.call('HSET', h, channel, line)
    if isNew then redis.call('ZADD', r, now, channel) end
    redis.call('PEXPIRE', h, life)
    redis.call('PEXPIRE', r, life)
end

