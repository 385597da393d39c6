-- Claims a due schedule for a while, after which another claim commits the same push. It cannot be deleted any more.
-- uses since
-- key at: the schedule, hash
-- argument now: the caller's time, ms, from schedule-due
-- argument hold: ms for which it is claimed; no schedule is to be tried later by more than that
-- Returns {'gone'}: no such schedule.
--   {'final'}: it was sent, failed or was deleted.
--   {'held'}: another worker has claimed it, or it is to be tried later.
--   {'early', due ms}: it was moved to a later time.
--   {'taken', fields and values}
local state, heldUntil, due = unpack(redis.call('HMGET', at, 'state', 'until', 'due'))
if not state then return {'gone'} end
if state ~= 'scheduled' and state ~= 'taken' then return {'final'} end
if state ~= 'taken' and tonumber(due or 0) > tonumber(now) then return {'early', due} end
if since_told(tonumber(heldUntil or 0) - hold, tonumber(now)) < tonumber(hold) then return {'held'} end
redis.call('HSET', at, 'state', 'taken', 'until', string.format('%.0f', now + hold))
return {'taken', redis.call('HGETALL', at)}
