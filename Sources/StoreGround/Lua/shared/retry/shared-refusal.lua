-- Fragment for task-settle and retry-settle: a platform refuses a push that is for other platforms too. Its tokens fail,
-- and nothing more is sent to it. The push stops early once all of its platforms refuse it.

-- Notes that a platform refuses the push, and why. Returns whether all of the push's platforms do.
-- platform: its code. others: the codes of the push's other platforms, with blanks between them
local function refuse(p, platform, reason, others)
    redis.call('HSETNX', p, 'stopped@' .. platform, reason)
    for other in string.gmatch(others, '%d+') do
        if redis.call('HEXISTS', p, 'stopped@' .. other) == 0 then return false end
    end
    return true
end
