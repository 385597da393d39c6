-- Keeps or takes back a push-to-start token, unless something newer stands there.
--
-- KEYS[1] start tokens of a channel, by attributes type
-- ARGV[1] attributes type
-- ARGV[2] flags (1 = taken back), five bytes of time (ms since 2020), token
-- Returns 1 done, 0 older than what stands there.
local function time(value)
    local a, b, c, d, e = string.byte(value, 2, 6)
    return (((a * 256 + b) * 256 + c) * 256 + d) * 256 + e
end
local old = redis.call('HGET', KEYS[1], ARGV[1])
if old and #old >= 6 and time(ARGV[2]) < time(old) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1
