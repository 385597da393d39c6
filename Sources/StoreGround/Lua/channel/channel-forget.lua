-- Removes a channel's record once the channel is in no set any more.
-- uses latest
-- key c: record of the channel, as in channel-mark
-- argument before: epoch ms; a record that was created later stays
-- arguments now, latest: ms since 2020, by the caller's clock. A stored time after the latter lies ahead (shared-latest)
-- Returns 1: there is no such record. 0: the channel still has fields for sets, whose changes may be on their way.
local created = redis.call('HGET', c, 'created')
if not created then return 1 end
if tonumber(created) > tonumber(before) and created - RECORD_EPOCH <= latest_believed(now, latest) then return 1 end
local fields = redis.call('HGETALL', c)
for i = 1, #fields, 2 do if string.find(fields[i], ':', 1, true) then return 0 end end
redis.call('UNLINK', c)
return 1
