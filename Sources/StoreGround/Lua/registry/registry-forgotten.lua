-- Ends a request to forget a channel at a name: drops its note, unless another request may need it.
-- uses latest
-- key g: channels being forgotten, see registry-forget
-- argument channel: channel, stored form
-- argument before: ms since 2020, the time of the request
-- arguments now, latest: ms since 2020, by the caller's clock. A stored time after the latter lies ahead (shared-latest)
-- argument stay: ms until all notes are gone, if nobody looks meanwhile
-- A later note is that of another request, or of a registration that another request would take for an older one.
local noted = tonumber(redis.call('HGET', g, channel) or 0)
if noted > tonumber(before) and noted <= latest_believed(now, latest) then
    redis.call('PEXPIRE', g, stay)
else
    redis.call('HDEL', g, channel)
end
