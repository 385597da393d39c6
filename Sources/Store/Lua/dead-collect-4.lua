-- Takes the places of a stopped push out of the lines of waiting channels, and keeps their channels with its dead letter. They were
-- counted when it was stopped. Before the push is resumed, so that none of them counts as waiting without being counted.
-- KEYS  1 p  2 r  3 h  4 dl (what it gave up, hash; its channels in dl:c)
-- ARGV  1 push id, 16 bytes, then channels whose lines have it
-- Returns how many places were taken out. Repeating it changes nothing.
local p, r, h, dl = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local push = redis.call('HMGET', p, 'state', 'stopped')
if push[1] ~= 'failed' or not push[2] or redis.call('EXISTS', dl) == 0 then return 0 end
local now = string.format('%.0f', redis_now())
local raw, collected = ARGV[1], 0
for i = 2, #ARGV do
    local channel = ARGV[i]
    local list = redis.call('HGET', h, channel) or ''
    for at = 4, #list - 15, 16 do
        -- 255 255: its `end` was delivered, the place waits for the removal.
        local isDelivered = at == 4 and string.sub(list, 1, 2) == '\255\255'
        if string.sub(list, at, at + 15) == raw and not isDelivered then
            if #list < 35 then
                redis.call('HDEL', h, channel)
                redis.call('ZREM', r, channel)
            elseif at == 4 then
                redis.call('HSET', h, channel, header(0, string.byte(list, 3)) .. string.sub(list, 20))
                redis.call('ZADD', r, now, channel)
            else
                redis.call('HSET', h, channel, string.sub(list, 1, at - 1) .. string.sub(list, at + 16))
            end
            -- Not bounded as other dead letters are: they are about to be taken.
            redis.call('HSET', dl .. ':c', channel, push[2])
            collected = collected + 1
            break
        end
    end
end
redis.call('PEXPIRE', dl .. ':c', math.max(redis.call('PTTL', dl), 1))
return collected
