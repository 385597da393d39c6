-- Removes a channel's record once the channel is in no set any more.
-- key c: record of the channel, as in channel-mark
-- argument before: epoch ms; a record that was created later stays
-- Returns 1: there is no such record. 0: the channel still has fields for sets, whose changes may be on their way.
local created = redis.call('HGET', c, 'created')
if not created or tonumber(created) > tonumber(before) then return 1 end
local fields = redis.call('HGETALL', c)
for i = 1, #fields, 2 do if string.find(fields[i], ':', 1, true) then return 0 end end
redis.call('UNLINK', c)
return 1
