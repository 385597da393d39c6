-- Clears an alarm whose raising was told, and tells that it is cleared.
-- uses events
-- key alarm: hash, see alarm-raise
-- keys out, queue: the app's outgoing events, stream; its queue of events, a stream too
-- argument kind: of the alarm
-- argument told: kind:told when the caller looked
-- argument before: the alarm must have ended by this time, ms; '' = it is cleared even if it stands
-- arguments keep, id, event, isQueued: of the outgoing event, see shared-events
-- Returns 1, or 0 if another caller has cleared it or it was repeated. Nothing was written then.
local since, ends = unpack(redis.call('HMGET', alarm, kind .. ':told', kind .. ':until'))
if since ~= told or before ~= '' and (tonumber(ends) or 0) > tonumber(before) then return 0 end
redis.call('HDEL', alarm, kind, kind .. ':since', kind .. ':until', kind .. ':told')
add_event(out, queue, keep, id, 'alarm_cleared', event, isQueued)
return 1
