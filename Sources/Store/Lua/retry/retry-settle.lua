-- Settles attempts at waiting channels. An operation acts once: only while its push is first, with the attempts seen.
-- keys l, r, h, o: the name's leases, hash; waiting channels, zset by due time (ms); their retry queues, hash; pending
--   removals, hash
-- arguments owner, epoch, length: of the caller's lease; length in ms from now
-- argument retention: how long the data is kept, ms
-- arguments ps, ws, dls: common prefixes of the p, w and dl keys
-- rest: operations, each with its arguments:
--   'pop' channel push seen field reason kept: the push is finished for the channel, and counted as `field` and under
--     `reason` unless that is ''. kept 1: given up for an operator. 2: its start token is stale, also counted.
--   'again' channel push seen due attempts reason duplicates: tried again at due (ms).
--   'remove' channel push seen token value reason: the token is dead, and counted when its removal is confirmed.
--   'end' channel push seen token value: the `end` was delivered to the token. Its removal is pending too. Until it is
--     confirmed, the channel gets nothing, not even from a page that another push has read.
--   'keep' push: the operations that follow do not finish the push, because 'stop' comes after them.
--   'stop' push reason: stops a push early, after 'keep'.
--   'void' channel: removes a retry queue that cannot be read.
--   push: 16 bytes. seen: the queue's header when the token was looked up. If another token was registered since, the
--     push stays first for it, unless it expired or is a start, whose card has the other token.
-- Returns {'stale'}: another worker has the lease. Nothing was written.
--   {'ok', due ms of the name's first waiting channel or '', pending removals, ids of the pushes that became final}
-- Keys found in data: docs/keyspace.md.
if not has_lease(lease_of(l, 'r:'), epoch, owner) then return {'stale'} end
local time = redis_now()
local now = string.format('%.0f', time)
renew_lease(l, 'r:', time, length)
if #ARGV >= rest then redis.call('HDEL', l, 'r:c') end
local name = {r = r, h = h, o = o, ps = ps, ws = ws, dls = dls, now = now, retention = retention}

local size = {pop = 7, again = 8, remove = 7, ['end'] = 6, keep = 2, stop = 3, void = 2}
local i = rest
while i <= #ARGV do
    local op, channel, push, seen, a, b, c = unpack(ARGV, i, i + 6)
    local d = ARGV[i + 7]
    if not size[op] then return redis.error_reply('ERR retry-settle: unknown operation') end
    i = i + size[op]
    if op == 'keep' or op == 'stop' then
        local text = id_text(channel)
        local p, w = ps .. text, ws .. text
        if is_open(p) then
            redis.call('HINCRBY', w, 'wait', op == 'keep' and 1 or -1)
            if op == 'stop' then
                write_entries(now, retention)
                stop_early(p, w, dls .. text, push, now, retention)
                finish(p, w, now)
            end
        end
    else
        local queue = redis.call('HGET', h, channel)
        if op == 'void' then
            -- The channel may have a new queue by now, if its earlier one was finished when the worker read it.
            if not is_whole(queue) then
                redis.call('ZREM', r, channel)
                redis.call('HDEL', h, channel)
            end
        elseif not is_first(queue, push, seen) then
            -- A newer push superseded it meanwhile. The new due time holds for that push too.
            if op == 'again' and queue then redis.call('ZADD', r, 'XX', 'GT', a, channel) end
        elseif registrations_of(queue) ~= registrations_of(seen) and not (op == 'pop' and a == 'expired')
            and redis.call('HGET', ps .. id_text(push), 'event') ~= 'start' then
            redis.call('HSET', h, channel, with_header(queue, 0, registrations_of(queue)))
            redis.call('ZADD', r, now, channel)
        elseif op == 'again' then
            try_again(name, channel, queue, push, a, b, c, d)
        elseif op == 'end' then
            settle_removal(name, channel, push, a, b, nil)
            redis.call('HSET', h, channel, with_header(queue, false, registrations_of(queue)))
            redis.call('ZREM', r, channel)
        else
            if op == 'pop' then
                settle_attempt(name, channel, push, a, b, c)
            else
                settle_removal(name, channel, push, a, b, c)
            end
            pop(h, r, channel, queue, now)
        end
    end
end
write_entries(now, retention)
return {'ok', first_due(r), redis.call('HLEN', o), table.concat(finalPushes, ' ')}
