-- Settles attempts at waiting channels. An operation acts once: only while its push goes out next, with the attempts
-- seen, or only while its request is open. The push that goes out next is the first of the channel's queue, or the second
-- if it may supersede the first.
-- uses time, lease, late-answers, refusal
-- keys l, r, h, o: the name's leases, hash; waiting channels, zset by due time (ms); their retry queues, hash; pending
--   removals, hash
-- key z: open requests, hash
-- arguments owner, epoch, length: of the caller's lease; length in ms from now
-- argument late: 1 = answers to open requests, whose id is `seen`, and `end`s of pages that lost their leases. They need
--   no lease.
-- argument retention: how long the data is kept, ms
-- arguments ps, ws, dls: common prefixes of the p, w and dl keys
-- rest: operations, each with its arguments:
--   'pop' channel push seen field reason kept: the push is finished for the channel, and counted as `field` and under
--     `reason` unless that is ''. kept 1: given up for an operator. 2: its start token is stale, also counted.
--     Behind that digit stands the code of the channel's platform, if that has counts of its own.
--   'again' channel push seen due attempts reason duplicates: tried again at due (ms). duplicates '': nothing was sent.
--   'remove' channel push seen token value reason: the token is dead, and counted when its removal is confirmed.
--   'end' channel push seen token value: the `end` was delivered to the token. Its removal is pending too. Until it is
--     confirmed, the channel gets nothing, not even from a page that another push has read.
--   'open' channel push seen id length attempts: the request is open for at most `length` ms. The answer comes late.
--   'lapse' channel: its open request ends, if its time is over: nobody will tell what became of it.
--   'resent' push number: for so many channels an earlier owner may have sent the push before.
--   'keep' push: the operations that follow do not finish the push, because 'stop' comes after them.
--   'refuse' push platform reason others: a platform refuses the push, as task-settle says, between 'keep' and 'stop'.
--   'stop' push reason: stops a push early, after 'keep'. reason '': only if all of its platforms refuse it.
--   'void' channel: removes a retry queue that cannot be read.
--   push: 16 bytes. seen: the queue's header when the token was looked up. If another token was registered since, the
--     push stays first for it, unless it expired or is a start, whose card has the other token.
-- Returns {'stale'}: another worker has the lease. Nothing was written.
--   {'ok', due ms of the name's first waiting channel or '', pending removals, ids of the pushes that became final}
-- Keys found in data: docs/keyspace.md.
local isLate = late == '1'
local time = redis_now()
local now = string.format('%.0f', time)
if not isLate then
    if not has_lease(lease_of(l, 'r:'), epoch, owner) then return {'stale'} end
    renew_lease(l, 'r:', time, length)
    if #ARGV >= rest then redis.call('HDEL', l, 'r:c') end
end
local name = {r = r, h = h, o = o, z = z, ps = ps, ws = ws, dls = dls, now = now, time = time, retention = retention}

local size = {pop = 7, again = 8, remove = 7, ['end'] = 6, open = 7, lapse = 2, resent = 3, keep = 2, refuse = 5, stop = 3,
    void = 2}
-- acted: a late answer to a request that is not open any more says nothing of the push, which may have been retried.
local i, refusal, acted = rest, nil, true
while i <= #ARGV do
    local op, channel, push, seen, a, b, c = unpack(ARGV, i, i + 6)
    local d = ARGV[i + 7]
    if not size[op] then return redis.error_reply('ERR retry-settle: unknown operation') end
    i = i + size[op]
    if op == 'keep' or op == 'refuse' or op == 'stop' then
        local text = id_text(channel)
        local p, w = ps .. text, ws .. text
        if not is_open(p) then
            refusal = nil
        elseif op == 'keep' then
            redis.call('HINCRBY', w, 'wait', 1)
            acted = not isLate
        elseif op == 'refuse' then
            refusal = acted and refuse(p, push, seen, a) and seen or refusal
        else
            -- Before the entry of 'keep' ends, so that these counts finish nothing.
            write_entries(now, retention)
            redis.call('HINCRBY', w, 'wait', -1)
            local reason = acted and (push ~= '' and push or refusal)
            if reason then stop_early(p, w, dls .. text, reason, now, retention) end
            finish(p, w, now)
            refusal = nil
        end
    elseif op == 'resent' then
        local p = ps .. id_text(channel)
        if redis.call('EXISTS', p) == 1 then
            redis.call('HINCRBY', p, 'retries', push)
            redis.call('HINCRBY', p, 'duplicates', push)
        end
    elseif op == 'lapse' then
        lapse(name, channel)
    else
        local queue = redis.call('HGET', h, channel)
        if op == 'void' then
            -- The channel may have a new queue by now, if its earlier one was finished when the worker read it.
            if not is_whole(queue) then
                redis.call('ZREM', r, channel)
                redis.call('HDEL', h, channel)
                redis.call('HDEL', z, channel)
            end
        elseif op == 'open' then
            if has_pushes(queue) then
                if is_next(name, queue, push, seen) then
                    redis.call('HSET', h, channel, with_header(queue, tonumber(c), registrations_of(queue)))
                end
                leave_open(z, r, channel, a, registrations_of(seen), push, time, b, retention)
            end
        elseif isLate then
            local registrations, sent = take_open(z, channel, seen)
            if sent == push then
                acted = true
                settle_late(name, op, channel, push, queue, registrations, a, b, c, d)
            elseif op == 'end' then
                note_end_delivered(name, channel, push, seen, queue, a, b)
            end
        elseif not is_next(name, queue, push, seen) then
            -- Newer pushes superseded it meanwhile. The new due time holds for that push too.
            if op == 'again' and queue then redis.call('ZADD', r, 'XX', 'GT', a, channel) end
        else
            settle_next(name, op, channel, push, queue, registrations_of(seen), a, b, c, d)
        end
    end
end
write_entries(now, retention)
return {'ok', first_due(r), redis.call('HLEN', o), table.concat(finalPushes, ' ')}
