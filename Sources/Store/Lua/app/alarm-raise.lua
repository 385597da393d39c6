-- Raises an alarm or repeats it. The time of its first raising is kept as long as the alarm stands.
-- KEYS[1] alarm: hash, kind → reason, kind:since and kind:until in epoch ms
-- ARGV[1] kind
-- ARGV[2] reason
-- ARGV[3] now, ms
-- ARGV[4] ms that the alarm stands unless it is repeated
-- Returns 1.
-- Atomic.
local kind, now, life = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[4])
local before = redis.call('HMGET', KEYS[1], kind, kind .. ':until')
if not before[1] or (tonumber(before[2]) or now) < now then redis.call('HSET', KEYS[1], kind .. ':since', ARGV[3]) end
redis.call('HSET', KEYS[1], kind, ARGV[2], kind .. ':until', string.format('%.0f', now + life))
if redis.call('PTTL', KEYS[1]) < life then redis.call('PEXPIRE', KEYS[1], life) end
return 1
