-- Strikes removals off that were applied to the registry, or that are not to be applied because their tokens are
-- quarantined: each is counted once, by the call that strikes it.
-- KEYS  1 o  2 h  3 r  4 n  5 x (quarantine)
-- ARGV  1 the p keys' common prefix  2 the w keys'  3 life of the quarantine's marks, ms, then triples: field of o, outcome
--       to count for its push, mark that quarantines the token, '' or '-': it is quarantined where it is registered
-- Returns {the name's first due ms or '', then for each triple 1 struck or 0 not owed any more}
-- `cut` in n counts the lists that were set free after an `end`: a sweep that read a page before the removal and asks for
-- waiting channels after it learns from it to read the page again.
local o, h, r, n, x = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local now = string.format('%.0f', redis_now())
-- After the push's 16 bytes and the length, 2.
local function channel_of(field)
    return string.sub(field, 19, 18 + string.byte(field, 17) * 256 + string.byte(field, 18))
end
local answer = {''}
for i = 4, #ARGV, 3 do
    local field, outcome, mark = ARGV[i], ARGV[i + 1], ARGV[i + 2]
    local value = redis.call('HGET', o, field)
    if value then
        redis.call('HDEL', o, field)
        local id = string.sub(field, 1, 16)
        local p, w = ARGV[1] .. id_text(id), ARGV[2] .. id_text(id)
        if redis.call('EXISTS', p) == 1 then
            redis.call('HINCRBY', p, outcome, 1)
            if mark ~= '' then redis.call('HINCRBY', p, 'e:Quarantined', 1) end
            redis.call('HINCRBY', w, 'owed', -1)
            finish(p, w, now)
        end
        if mark ~= '' and mark ~= '-' then
            redis.call('HSET', x, channel_of(field), mark)
            redis.call('PEXPIRE', x, ARGV[3])
        end
        if string.sub(value, 1, 1) == 'e' and #field > 18 then
            local channel = channel_of(field)
            local list = redis.call('HGET', h, channel)
            if list and string.sub(list, 1, 2) == '\255\255' then
                redis.call('HINCRBY', n, 'cut', 1)
                if #list < 35 then
                    redis.call('HDEL', h, channel)
                else
                    redis.call('HSET', h, channel, header(0, string.byte(list, 3)) .. string.sub(list, 20))
                    redis.call('ZADD', r, now, channel)
                end
            end
        end
    end
    answer[#answer + 1] = value and 1 or 0
end
answer[1] = redis.call('ZRANGE', r, 0, 0, 'WITHSCORES')[2] or ''
return answer
