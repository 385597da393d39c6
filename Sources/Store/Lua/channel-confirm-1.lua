-- Notes that the sets are what the record said at a version: joining becomes in, leaving is forgotten. A sign that crossed another
-- stays until its time is over.
--
-- KEYS[1] record of the channel, as in channel-mark
-- ARGV[1] the version, ARGV[2] now, epoch ms, ARGV[3...] the fields that were worked off
-- Returns 1; or 0 if the record was changed meanwhile: nothing was done, and the same sets are to be looked at again.
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
