-- Settles one page in one step: counters, checkpoint, lease, retries, prunes owed, early stop, the end of the sweep and of
-- the push. Repeating any part of it counts nothing twice.
-- KEYS  1 n  2 q  3 p  4 w  5 r  6 o
-- ARGV  1 push id  2 shard; '' needs no lease and moves no checkpoint  3 owner  4 epoch  5 lease ms
--       6 first position of the page  7 position behind it  8 first position of the shard  9 end of the shard
--       10 reason to stop the push early, or ''
--       then a list of operations, each with its arguments:
--         'add' field n        counters of tokens that this page read for the first time
--         'owe' channel value  a prune to be applied to the registry; counted when struck
--         'retry' due member   a token to try again
--         'settle' member field     a retried token is finished: counted once, if it was still waiting
--         'again' member due member'  it is tried again later
--         'dead' member channel value it is owed a prune
--         'strike' channel field      an owed prune was applied: counted once, if it was still owed
-- Returns {'stale'}: the lease is another's; nothing was written.  {'gone'}: no such push any more.
--         {'ok', state, shard finished 0|1, unswept pushes of the name, retries' first due ms or '', prunes owed,
--          prunes struck off as pruned by this call}
-- If the worker dies before this call, the page is read and sent again by whoever claims the shard; after it, never.
local id, s = ARGV[1], ARGV[2]
local n, q, p, w, r, o = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local state = redis.call('HGET', p, 'state')
if not state then return {'gone'} end
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
if s ~= '' then
    local task = redis.call('HMGET', w, s .. ':e', s .. ':o')
    if task[1] ~= ARGV[4] or task[2] ~= ARGV[3] then return {'stale'} end
    redis.call('HSET', w, s .. ':d', string.format('%.0f', now + ARGV[5]))
end

-- The checkpoint: `p` is the position up to which all is settled; pages settled ahead of it wait in `a` as from-to pairs.
-- A page that lies in it was settled before by a call whose answer was lost: then nothing is counted again.
local from, to, sweeps = tonumber(ARGV[6]), tonumber(ARGV[7]), s ~= '' and s ~= 'r'
local position, ahead, finishedBefore, repeated = 0, {}, false, false
if sweeps then
    local task = redis.call('HMGET', w, s .. ':p', s .. ':a', s .. ':f')
    position, finishedBefore = math.max(tonumber(task[1] or '0'), tonumber(ARGV[8])), task[3]
    for a, b in string.gmatch(task[2] or '', '(%d+)-(%d+)') do ahead[#ahead + 1] = {tonumber(a), tonumber(b)} end
    repeated = from < to and to <= position
    for _, range in ipairs(ahead) do repeated = repeated or (range[1] <= from and to <= range[2]) end
end

local pruned = 0
local i = repeated and #ARGV + 1 or 11
while i <= #ARGV do
    local op, a, b, c = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
    if op == 'add' then
        redis.call('HINCRBY', p, a, b)
        i = i + 3
    elseif op == 'owe' then
        redis.call('HSET', o, a, b)
        i = i + 3
    elseif op == 'retry' then
        redis.call('ZADD', r, a, b)
        i = i + 3
    elseif op == 'settle' then
        if redis.call('ZREM', r, a) == 1 then redis.call('HINCRBY', p, b, 1) end
        i = i + 3
    elseif op == 'again' then
        if redis.call('ZREM', r, a) == 1 then redis.call('ZADD', r, b, c) end
        i = i + 4
    elseif op == 'dead' then
        if redis.call('ZREM', r, a) == 1 then redis.call('HSET', o, b, c) end
        i = i + 4
    elseif op == 'strike' then
        if redis.call('HDEL', o, a) == 1 then
            redis.call('HINCRBY', p, b, 1)
            if b == 'pruned' then pruned = pruned + 1 end
        end
        i = i + 3
    else
        return redis.error_reply('ERR task-settle: unknown operation')
    end
end

if ARGV[10] ~= '' and (state == 'queued' or state == 'sending') then
    state = 'failed'
    redis.call('HSET', p, 'state', state, 'stopped', ARGV[10], 'finished', now)
end
if state == 'failed' or state == 'cancelled' then
    local waiting = redis.call('ZCARD', r)
    if waiting > 0 then
        redis.call('HINCRBY', p, state == 'failed' and 'failed' or 'skipped', waiting)
        redis.call('DEL', r)
    end
end

local finished = 0
if sweeps then
    ahead[#ahead + 1] = {from, to}
    table.sort(ahead, function(x, y) return x[1] < y[1] end)
    local rest = {}
    for _, range in ipairs(ahead) do
        local before = rest[#rest]
        if range[1] <= position then
            position = math.max(position, range[2])
        elseif before and range[1] <= before[2] then
            before[2] = math.max(before[2], range[2])
        else
            rest[#rest + 1] = {range[1], range[2]}
        end
    end
    for k, range in ipairs(rest) do rest[k] = string.format('%.0f-%.0f', range[1], range[2]) end
    redis.call('HSET', w, s .. ':p', string.format('%.0f', position), s .. ':a', table.concat(rest, ','))
    if position >= tonumber(ARGV[9]) then
        finished = 1
        if not finishedBefore then
            redis.call('HSET', w, s .. ':f', 1)
            if redis.call('HINCRBY', w, 'left', -1) == 0 then
                redis.call('HSET', p, 'expanded', 1)
                redis.call('ZREM', q, id)
                if redis.call('HGET', n, 'active') == id then redis.call('HDEL', n, 'active') end
            end
        end
    end
end

local first = redis.call('ZRANGE', r, 0, 0, 'WITHSCORES')[2] or ''
local life = redis.call('PTTL', p)
if first ~= '' and redis.call('PTTL', r) < 0 then redis.call('PEXPIRE', r, life) end
if redis.call('EXISTS', o) == 1 and redis.call('PTTL', o) < 0 then redis.call('PEXPIRE', o, life) end
if first == '' and redis.call('EXISTS', o) == 0 and redis.call('HGET', p, 'expanded') == '1' then
    if state == 'sending' or state == 'queued' then
        local sum = redis.call('HMGET', p, 'targets', 'expired')
        state = sum[2] and sum[2] == sum[1] and 'expired' or 'done'
        redis.call('HSET', p, 'state', state, 'finished', now)
    end
    redis.call('DEL', w)
end
return {'ok', state, finished, redis.call('ZCARD', q), first, redis.call('HLEN', o), pruned}
