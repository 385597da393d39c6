-- Settles attempts at channels that waited. Each operation acts only while its push is first in the channel's list, with the
-- attempts that the sender saw: repeating one counts nothing twice.
-- KEYS  1 l  2 r  3 h  4 o
-- ARGV  1 owner  2 epoch  3 lease ms  4 the p keys' common prefix  5 the w keys'  6 retention ms
--       7 the dl keys' common prefix, then operations:
--         'pop' channel push seen field reason kept   finished: counted as `field`, and under `reason` unless that is '';
--                                                  kept 1: given up, for an operator to decide about; 2: its start token is
--                                                  stale, which is counted besides
--         'again' channel push seen due attempts reason duplicates
--         'owe' channel push seen token value reason   dead: a removal is owed to the registry, counted when it is struck
--         'end' channel push seen token value      its `end` was delivered: the same, and nothing goes to the channel until
--                                                  then, not even what another push's page has read
--         'keep' push                              what follows does not end the push: it is to be stopped
--         'stop' push reason                       stops a push early, after 'keep'
--         'void' channel                           takes a list out that nobody can read
--       push: 16 bytes. seen: the list's header as it was when the token was looked up; if the channel has registered a new
--       token since, that one is still to be sent to, and the push stays first (unless it expired, or is a start, whose
--       tokens are others: the card that it brought tells its own token).
-- Returns {'stale'}: the lease is another's; nothing was written.
--         {'ok', the name's first due ms or '', removals owed}
local l, r, h, o = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local lease = redis.call('HMGET', l, 'r:e', 'r:o')
if lease[1] ~= ARGV[2] or lease[2] ~= ARGV[1] then return {'stale'} end
local time = redis_now()
local now = string.format('%.0f', time)
redis.call('HSET', l, 'r:d', string.format('%.0f', time + ARGV[3]))
if #ARGV > 7 then redis.call('HDEL', l, 'r:c') end

local function keys(push)
    local text = id_text(push)
    return ARGV[4] .. text, ARGV[5] .. text
end
-- The rest of a list moves up.
local function pop(channel, list)
    if #list < 35 then
        redis.call('HDEL', h, channel)
        redis.call('ZREM', r, channel)
    else
        redis.call('HSET', h, channel, header(0, string.byte(list, 3)) .. string.sub(list, 20))
        redis.call('ZADD', r, now, channel)
    end
end
local function owe(channel, push, token, value)
    local length = #channel
    local field = push .. string.char(math.floor(length / 256), length % 256) .. channel .. token
    local isNew = redis.call('HSET', o, field, value) == 1
    redis.call('PEXPIRE', o, ARGV[6])
    return isNew
end

local size = {pop = 7, again = 8, owe = 7, ['end'] = 6, keep = 2, stop = 3, void = 2}
local i = 8
while i <= #ARGV do
    local op, channel, push, seen, a, b, c = unpack(ARGV, i, i + 6)
    local d = ARGV[i + 7]
    if not size[op] then return redis.error_reply('ERR retry-settle: unknown operation') end
    i = i + size[op]
    if op == 'void' then
        -- One that was finished when its line was asked for may have a new line by now.
        local list = redis.call('HGET', h, channel)
        if not list or #list < 19 or (#list - 3) % 16 ~= 0 then
            redis.call('ZREM', r, channel)
            redis.call('HDEL', h, channel)
        end
    elseif op == 'keep' or op == 'stop' then
        local p, w = keys(channel)
        local state = redis.call('HGET', p, 'state')
        local isOpen = state == 'sending' or state == 'queued'
        if isOpen and op == 'keep' then
            redis.call('HINCRBY', w, 'wait', 1)
        elseif isOpen then
            redis.call('HINCRBY', w, 'wait', -1)
            note_stop(ARGV[7] .. id_text(channel), w, push, now)
            stop(p, w, 'failed', now)
            redis.call('HSET', p, 'stopped', push)
            finish(p, w, now)
        end
    else
        local list = redis.call('HGET', h, channel)
        local isFirst = list and string.sub(list, 4, 19) == push and string.sub(list, 1, 2) == string.sub(seen, 1, 2)
        local p, w = keys(push)
        if not isFirst then
            -- Replaced by a newer push meanwhile: that one keeps to the new due time all the same.
            if op == 'again' and list then redis.call('ZADD', r, 'XX', 'GT', a, channel) end
        elseif string.byte(list, 3) ~= string.byte(seen, 3) and not (op == 'pop' and a == 'expired')
            and redis.call('HGET', p, 'event') ~= 'start' then
            -- 16384: without its alert (late-put).
            local quiet = string.byte(list) >= 64 and string.byte(list) < 128 and 16384 or 0
            redis.call('HSET', h, channel, header(quiet, string.byte(list, 3)) .. string.sub(list, 4))
            redis.call('ZADD', r, now, channel)
        elseif op == 'pop' then
            local dl = ARGV[7] .. id_text(push)
            if leave(p, w, a, b, now) then
                if c == '1' then give_up(dl, channel, b, false, now) end
                if a == 'expired' then note_expired(dl, 1, now) end
                if c == '2' then redis.call('HINCRBY', p, 'stale_tokens', 1) end
            else
                local reason = redis.call('HGET', p, 'stopped')
                local isKept = reason and redis.call('EXISTS', dl) == 1
                if reason and a == 'delivered' then
                    -- It was on the wire when the push was stopped, and was counted as failed then.
                    redis.call('HINCRBY', p, 'failed', -1)
                    redis.call('HINCRBY', p, 'delivered', 1)
                    if isKept then redis.call('HINCRBY', dl, 'r:' .. reason, -1) end
                elseif isKept then
                    give_up(dl, channel, reason, true, now)
                end
            end
            pop(channel, list)
        elseif op == 'again' then
            redis.call('HSET', h, channel, header(b, string.byte(list, 3)) .. string.sub(list, 4))
            redis.call('ZADD', r, a, channel)
            if redis.call('EXISTS', p) == 1 then
                redis.call('HINCRBY', p, 'retries', 1)
                redis.call('HINCRBY', p, 'e:' .. c, 1)
                if d ~= '0' then redis.call('HINCRBY', p, 'duplicates', d) end
            end
        else
            local state = redis.call('HGET', p, 'state')
            local isOpen = state == 'sending' or state == 'queued'
            if isOpen then
                -- From waiting to owed: it is counted when the removal is struck.
                redis.call('HINCRBY', w, 'wait', -1)
                if op == 'owe' then redis.call('HINCRBY', p, 'e:' .. c, 1) end
            end
            -- A push that is over has counted it: its removal is nobody's.
            local debtor = isOpen and push or string.rep('\0', 16)
            if op == 'owe' then
                if isOpen then
                    if owe(channel, debtor, a, b) then redis.call('HINCRBY', w, 'owed', 1) end
                end
                pop(channel, list)
            else
                if owe(channel, debtor, a, b) and isOpen then redis.call('HINCRBY', w, 'owed', 1) end
                redis.call('HSET', h, channel, '\255\255' .. string.sub(list, 3))
                redis.call('ZREM', r, channel)
            end
        end
    end
end
local first = redis.call('ZRANGE', r, 0, 0, 'WITHSCORES')[2] or ''
return {'ok', first, redis.call('HLEN', o)}
