-- Notes that a channel's sets are as its record said at a version: `+` becomes `1`, and a field with `-` is removed. A
-- sign with a time stays until that time (channel-mark).
--
-- KEYS[1] c: record of the channel, as in channel-mark
-- ARGV[1] version
-- ARGV[2] now, epoch ms
-- ARGV[3 ...] fields whose sets were changed
-- Returns 1; 0: the record has changed since. Nothing was done, and the caller looks at the same sets again.
-- Atomic.
if (redis.call('HGET', KEYS[1], 'v') or '0') ~= ARGV[1] then return 0 end
for i = 3, #ARGV do
    local state = redis.call('HGET', KEYS[1], ARGV[i])
    local sign, crossing = string.match(state or '', '^([+-])(%d*)$')
    if sign and (tonumber(crossing) or 0) <= tonumber(ARGV[2]) then
        if sign == '+' then
            redis.call('HSET', KEYS[1], ARGV[i], '1')
        else
            redis.call('HDEL', KEYS[1], ARGV[i])
        end
    end
end
return 1
