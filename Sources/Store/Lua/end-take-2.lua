-- Takes names in hand among whose cards some are to be ended: first those that somebody has had in hand for too long, then those
-- whose time has come.
-- KEYS  1 end (zset of names by ms)  2 end:h (zset of `<cutoff> <name>` by the ms until which somebody has it in hand)
-- ARGV  1 at most so many  2 ms that they are in hand  3 a card that started so many ms ago, or longer, is to be ended
-- Returns `<cutoff> <name>` of each: the cutoff is the latest start, ms, of the cards to be ended, and stays what it is for whoever
-- takes the name over.
-- Whoever registers from now on puts the name in again: what is noted here was registered before, and will be read.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local stamp, held = string.format('%.0f', now), string.format('%.0f', now + ARGV[2])
local taken = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', stamp, 'LIMIT', 0, ARGV[1])
for _, member in ipairs(taken) do redis.call('ZADD', KEYS[2], held, member) end
local room = tonumber(ARGV[1]) - #taken
if room > 0 then
    local cutoff = string.format('%.0f', now - ARGV[3])
    for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', stamp, 'LIMIT', 0, room)) do
        -- Taken twice within a millisecond, it waits for the next one.
        if redis.call('ZADD', KEYS[2], 'NX', held, cutoff .. ' ' .. name) == 1 then
            redis.call('ZREM', KEYS[1], name)
            taken[#taken + 1] = cutoff .. ' ' .. name
        end
    end
end
return taken
