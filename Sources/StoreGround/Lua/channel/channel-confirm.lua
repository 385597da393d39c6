-- Notes that a channel's sets are as its record said: `+` becomes `1`, `-` goes. A sign with a time stays until then.
-- uses since
-- key c: record of the channel, as in channel-mark
-- argument version: of the record, as channel-mark returned it
-- argument now: the caller's time, epoch ms
-- argument crossing: as in channel-mark
-- rest: fields whose sets were changed
-- Returns 1; 0: the record has changed since. Nothing was done, and the caller looks at the same sets again.
if (redis.call('HGET', c, 'v') or '0') ~= version then return 0 end
for i = rest, #ARGV do
    local state = redis.call('HGET', c, ARGV[i])
    local sign, ends = string.match(state or '', '^([+-])(%d*)$')
    if sign and since_told((tonumber(ends) or 0) - crossing, tonumber(now)) >= tonumber(crossing) then
        if sign == '+' then redis.call('HSET', c, ARGV[i], '1') else redis.call('HDEL', c, ARGV[i]) end
    end
end
return 1
