-- Removes marks from a name's quarantine, each only if it is still the one that the caller saw.
-- key x: hash, channel → mark
-- rest: channel, mark, channel, mark …
-- Returns how many marks are left.
for i = rest, #ARGV, 2 do
    if redis.call('HGET', x, ARGV[i]) == ARGV[i + 1] then redis.call('HDEL', x, ARGV[i]) end
end
return redis.call('HLEN', x)
