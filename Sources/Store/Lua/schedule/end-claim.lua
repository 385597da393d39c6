-- Claims names that have cards to be ended: first names that another worker claimed too long ago, then names whose time
-- has come.
-- KEYS[1] end: names, zset by time (ms)
-- KEYS[2] end:h: claimed names, zset of `<cutoff> <name>` by the ms until which a worker has the name
-- ARGV[1] most names
-- ARGV[2] ms for which they are claimed
-- ARGV[3] age (ms): a card that started so long ago or longer is to be ended
-- Returns `<cutoff> <name>` of each. The cutoff is the latest start (ms) of the cards to be ended. It stays the same
--   for the next worker that claims the name.
-- Atomic. A card that is registered from now on adds its name again. The cards of a claimed name were registered
-- before, so the worker reads them.
local now = redis_now()
local stamp, held = string.format('%.0f', now), string.format('%.0f', now + ARGV[2])
local taken = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', stamp, 'LIMIT', 0, ARGV[1])
for _, member in ipairs(taken) do redis.call('ZADD', KEYS[2], held, member) end
local room = tonumber(ARGV[1]) - #taken
if room > 0 then
    local cutoff = string.format('%.0f', now - ARGV[3])
    for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', stamp, 'LIMIT', 0, room)) do
        -- If the name was claimed in the same millisecond already, it waits for the next call.
        if redis.call('ZADD', KEYS[2], 'NX', held, cutoff .. ' ' .. name) == 1 then
            redis.call('ZREM', KEYS[1], name)
            taken[#taken + 1] = cutoff .. ' ' .. name
        end
    end
end
return taken
