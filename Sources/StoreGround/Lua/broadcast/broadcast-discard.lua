-- Gives up a name's broadcast channel: at once, or because the name is closed.
-- key bc: the name's broadcast channel, hash
-- key n: name meta, hash
-- argument because: 'now' or 'ended'
-- argument now: the caller's time, ms
-- Returns '': the name has none any more. 'deleting': a worker is to delete it at APNs.
--   'live': it stays, because the name was opened again or the time has not come.
local state = redis.call('HGET', bc, 'state')
if not state or state == 'deleting' then return state or '' end
if because == 'ended' then
    local at = redis.call('HGET', bc, 'delete_at')
    if not at or not redis.call('HGET', n, 'ended') then
        redis.call('HDEL', bc, 'delete_at')
        return 'live'
    end
    if tonumber(at) > tonumber(now) then return 'live' end
end
if state == 'wanted' then
    -- A worker may be making the channel. broadcast-live tells it then that the name does not want one.
    redis.call('DEL', bc)
    return ''
end
redis.call('HSET', bc, 'state', 'deleting', 'since', now)
redis.call('HDEL', bc, 'error', 'attempts', 'delete_at')
return 'deleting'
