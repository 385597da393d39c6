-- Removes marks from a name's quarantine, each only if it is still the one that the caller saw.
-- KEYS[1] x: hash, channel → mark
-- ARGV[1 ...] channel, mark, channel, mark …
-- Returns how many marks are left.
-- Atomic.
for i = 1, #ARGV, 2 do
    if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1] then
        redis.call('HDEL', KEYS[1], ARGV[i])
    end
end
return redis.call('HLEN', KEYS[1])
