-- Gives up a name's broadcast channel: at once, or because the name has ended.
-- KEYS[1] bc: the name's broadcast channel, hash
-- KEYS[2] n: name meta, hash
-- ARGV[1] 'now' or 'ended'
-- ARGV[2] now, ms
-- Returns '': the name has none any more. 'deleting': a worker is to delete it at APNs.
--   'live': it stays, because the name was opened again or the time has not come.
-- Atomic.
local state = redis.call('HGET', KEYS[1], 'state')
if not state then return '' end
if state == 'deleting' then return 'deleting' end
if ARGV[1] == 'ended' then
    local at = redis.call('HGET', KEYS[1], 'delete_at')
    if not at or not redis.call('HGET', KEYS[2], 'ended') then
        redis.call('HDEL', KEYS[1], 'delete_at')
        return 'live'
    end
    if tonumber(at) > tonumber(ARGV[2]) then return 'live' end
end
if state == 'wanted' then
    -- A worker may be making the channel. broadcast-live tells it then that the name does not want one.
    redis.call('DEL', KEYS[1])
    return ''
end
redis.call('HSET', KEYS[1], 'state', 'deleting', 'since', ARGV[2])
redis.call('HDEL', KEYS[1], 'error', 'attempts', 'delete_at')
return 'deleting'
