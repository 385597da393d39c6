-- Settles attempts at waiting channels. An operation acts only while its push is first in the channel's retry queue,
-- with the attempts that the sender saw. So repeating it counts nothing twice.
-- KEYS[1] l: the name's leases, hash
-- KEYS[2] r: waiting channels, zset by due time (ms)
-- KEYS[3] h: their retry queues, hash
-- KEYS[4] o: pending removals, hash
-- ARGV[1] owner
-- ARGV[2] epoch
-- ARGV[3] lease, ms
-- ARGV[4] common prefix of the p keys
-- ARGV[5] common prefix of the w keys
-- ARGV[6] retention, ms
-- ARGV[7] common prefix of the dl keys
-- ARGV[8 ...] operations, each with its arguments:
--   'pop' channel push seen field reason kept: the push is finished for the channel. It is counted as `field`, and
--     under `reason` unless that is ''. kept 1: given up, so that an operator can decide. kept 2: its start token is
--     stale, which is counted too.
--   'again' channel push seen due attempts reason duplicates: tried again at due (ms).
--   'owe' channel push seen token value reason: the token is dead. Its pending removal is counted when it is confirmed.
--   'end' channel push seen token value: the `end` was delivered to the token. Its removal is pending too. Until it is
--     confirmed, the channel gets nothing, not even from a page that another push has read.
--   'keep' push: the operations that follow do not finish the push, because 'stop' comes after them.
--   'stop' push reason: stops a push early, after 'keep'.
--   'void' channel: removes a retry queue that cannot be read.
--   push: 16 bytes. seen: the queue's header when the token was looked up. If the channel has registered another token
--     since, the push stays first for that token, unless it expired. A start does not stay, because the other token
--     belongs to its card.
-- Returns {'stale'}: another worker has the lease. Nothing was written.
--   {'ok', due ms of the name's first waiting channel or '', pending removals}
-- Atomic.
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
-- Removes the first push of a retry queue.
local function pop(channel, list)
    if #list < 35 then
        redis.call('HDEL', h, channel)
        redis.call('ZREM', r, channel)
    else
        redis.call('HSET', h, channel, without(list, 4))
        redis.call('ZADD', r, now, channel)
    end
end
-- A push that was stopped or cancelled was delivered all the same: its attempt was on the wire then, and its token was counted as
-- failed or skipped. An `end` of which nothing newer was accepted closes its name again.
local function delivered_after(p, dl, id)
    local push = redis.call('HMGET', p, 'state', 'stopped', 'closes', 'seq')
    local field = push[1] == 'failed' and push[2] and 'failed' or push[1] == 'cancelled' and 'skipped'
    if not field then return end
    redis.call('HINCRBY', p, field, -1)
    redis.call('HINCRBY', p, 'delivered', 1)
    if field == 'failed' and redis.call('EXISTS', dl) == 1 and redis.call('HINCRBY', dl, 'r:' .. push[2], -1) <= 0 then
        redis.call('HDEL', dl, 'r:' .. push[2])
    end
    if push[3] and redis.call('HGET', push[3], 'seq') == push[4] then close_name(push[3], push[4], now, id) end
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
        -- The channel may have a new queue by now, if its earlier one was finished when the worker read it.
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
        local attempts, quiet
        if list and #list >= 19 then attempts, quiet = read_header(list) end
        -- Its other part may have changed: late-put takes alerts away.
        local isFirst = attempts and string.sub(list, 4, 19) == push and attempts == read_header(seen)
        local p, w = keys(push)
        if not isFirst then
            -- A newer push superseded it meanwhile. The new due time holds for that push too.
            if op == 'again' and list then redis.call('ZADD', r, 'XX', 'GT', a, channel) end
        elseif string.byte(list, 3) ~= string.byte(seen, 3) and not (op == 'pop' and a == 'expired')
            and redis.call('HGET', p, 'event') ~= 'start' then
            redis.call('HSET', h, channel, header(0, string.byte(list, 3), quiet) .. string.sub(list, 4))
            redis.call('ZADD', r, now, channel)
        elseif op == 'pop' then
            local dl = ARGV[7] .. id_text(push)
            if leave(p, w, a, b, now) then
                if c == '1' then give_up(dl, channel, b, false, now) end
                if a == 'expired' then note_expired(dl, 1, now) end
                if c == '2' then redis.call('HINCRBY', p, 'stale_tokens', 1) end
            else
                local reason = redis.call('HGET', p, 'stopped')
                if a == 'delivered' then
                    delivered_after(p, dl, id_text(push))
                elseif reason and redis.call('EXISTS', dl) == 1 then
                    give_up(dl, channel, reason, true, now)
                end
            end
            pop(channel, list)
        elseif op == 'again' then
            redis.call('HSET', h, channel, header(tonumber(b), string.byte(list, 3), quiet) .. string.sub(list, 4))
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
                -- A waiting token becomes a pending removal, which is counted when it is confirmed.
                redis.call('HINCRBY', w, 'wait', -1)
                if op == 'owe' then redis.call('HINCRBY', p, 'e:' .. c, 1) end
            end
            -- A final push has counted the token already, so the removal belongs to no push.
            local debtor = isOpen and push or string.rep('\0', 16)
            if op == 'owe' then
                if isOpen then
                    if owe(channel, debtor, a, b) then redis.call('HINCRBY', w, 'owed', 1) end
                end
                pop(channel, list)
            else
                local isNew = owe(channel, debtor, a, b)
                if isNew and isOpen then
                    redis.call('HINCRBY', w, 'owed', 1)
                elseif isNew then
                    delivered_after(p, ARGV[7] .. id_text(push), id_text(push))
                end
                redis.call('HSET', h, channel, ended_header(string.byte(list, 3), quiet) .. string.sub(list, 4))
                redis.call('ZREM', r, channel)
            end
        end
    end
end
local first = redis.call('ZRANGE', r, 0, 0, 'WITHSCORES')[2] or ''
return {'ok', first, redis.call('HLEN', o)}
