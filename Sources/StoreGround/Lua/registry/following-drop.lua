-- Drops a note of the index from channels to places, once no registration behind it can be on its way any more. A
-- registration writes its note before its record, on another slot. So the note is set aside first.
-- key fo: the bucket, hash: channel and place, until when it may be true in minutes, three bytes
-- arguments note, aside: field of the note, and of the note that is set aside
-- argument expires: when tidying drops what is set aside, in the form of a value
-- arguments now, wait: epoch ms; for how long it is set aside, ms
-- Returns 1: nothing is left. 0: a note is set aside. Call again after `wait`, if there is no registration by then.
-- A crash leaves what is set aside, which readers still find.
local since = redis.call('HGET', fo, aside)
since = since and (tonumber(string.sub(since, 4)) or 0)
-- A time ahead was stored before the clock was set back.
if redis.call('HDEL', fo, note) == 1 or since and since > tonumber(now) then
    redis.call('HSET', fo, aside, expires .. now)
    return 0
end
if not since then return 1 end
if tonumber(now) - since < tonumber(wait) then return 0 end
redis.call('HDEL', fo, aside)
return 1
