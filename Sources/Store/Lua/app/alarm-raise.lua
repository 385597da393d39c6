-- Raises an alarm or repeats it. The time of its first raising is kept as long as the alarm stands.
-- key alarm: hash, kind → reason, kind:since and kind:until in epoch ms
-- argument kind: of the alarm
-- argument reason: shown to the operator
-- argument now: the caller's time, ms
-- argument life: ms that the alarm stands unless it is repeated
-- Returns 1.
now, life = tonumber(now), tonumber(life)
local stands, ends = unpack(redis.call('HMGET', alarm, kind, kind .. ':until'))
if not stands or (tonumber(ends) or now) < now then redis.call('HSET', alarm, kind .. ':since', now) end
redis.call('HSET', alarm, kind, reason, kind .. ':until', string.format('%.0f', now + life))
if redis.call('PTTL', alarm) < life then redis.call('PEXPIRE', alarm, life) end
return 1
