-- Gives up a name's channel: at once, or because the name has ended.
-- KEYS  1 bc  2 n (name meta)
-- ARGV  1 'now' | 'ended'  2 now ms
-- Returns '' there is none (any more), 'live' it stays: the name began anew, or the time has not come; 'deleting' it is to be
--         deleted at APNs.
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
    -- Should it be in the making, whoever makes it is told by broadcast-live that nobody wants it.
    redis.call('DEL', KEYS[1])
    return ''
end
redis.call('HSET', KEYS[1], 'state', 'deleting', 'since', ARGV[2])
redis.call('HDEL', KEYS[1], 'error', 'attempts', 'delete_at')
return 'deleting'
