-- Raises an alarm or repeats it. The time of its first raising is kept as long as the alarm stands.
-- uses events
-- key alarm: hash, kind → reason, kind:since and kind:until in epoch ms, kind:told = when the raising was told
-- keys out, queue: the app's outgoing events, stream; its queue of events, a stream too
-- argument kind: of the alarm
-- argument reason: shown to the operator
-- argument now: the caller's time, ms
-- argument life: ms that the alarm stands unless it is repeated
-- argument kept: life of the hash, ms
-- arguments keep, id, event, isQueued: of the outgoing event that tells it, see shared-events; event '' = none
-- Returns 1. A repeated call tells nothing again.
now, life = tonumber(now), tonumber(life)
local stands, ends, told = unpack(redis.call('HMGET', alarm, kind, kind .. ':until', kind .. ':told'))
if not stands or (tonumber(ends) or now) < now then redis.call('HSET', alarm, kind .. ':since', now) end
redis.call('HSET', alarm, kind, reason, kind .. ':until', string.format('%.0f', now + life))
-- An alarm that ended, and is raised again before that is told, goes on for those who are told.
if event ~= '' and not told then
    redis.call('HSET', alarm, kind .. ':told', string.format('%.0f', now))
    add_event(out, queue, keep, id, 'alarm_raised', event, isQueued)
end
if redis.call('PTTL', alarm) < tonumber(kept) then redis.call('PEXPIRE', alarm, kept) end
return 1
