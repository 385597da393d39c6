-- Claims names with cards to be ended: first those that another worker claimed too long ago, then those that are due.
-- uses time
-- key ends: names, zset by time (ms)
-- key claimed: claimed names, zset of `<cutoff> <name>` by the ms until which a worker has the name
-- argument most: most names
-- argument length: ms for which they are claimed
-- argument age: age (ms): a card that started so long ago or longer is to be ended
-- Returns `<cutoff> <name>` of each. The cutoff, the latest start (ms) of cards to be ended, stays for the next owner.
-- A card that is registered later adds its name again. The worker reads the cards that were registered before.
local now = redis_now()
local stamp, held = string.format('%.0f', now), string.format('%.0f', now + length)
local taken = redis.call('ZRANGEBYSCORE', claimed, '-inf', stamp, 'LIMIT', 0, most)
for _, member in ipairs(taken) do redis.call('ZADD', claimed, held, member) end
local room = tonumber(most) - #taken
if room > 0 then
    local cutoff = string.format('%.0f', now - age)
    for _, name in ipairs(redis.call('ZRANGEBYSCORE', ends, '-inf', stamp, 'LIMIT', 0, room)) do
        -- If the name was claimed in the same millisecond already, it waits for the next call.
        if redis.call('ZADD', claimed, 'NX', held, cutoff .. ' ' .. name) == 1 then
            redis.call('ZREM', ends, name)
            taken[#taken + 1] = cutoff .. ' ' .. name
        end
    end
end
return taken
