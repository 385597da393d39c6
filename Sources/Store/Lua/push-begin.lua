-- Begins a name's oldest unswept push, or says what to do instead. The first caller fixes the number of shards. A push
-- with one shard is claimed in the same step, so that a small audience costs one round trip.
-- KEYS[1] n: name meta, hash
-- KEYS[2] q: the name's unswept pushes, zset by sequence number
-- KEYS[3] p: this push, hash
-- KEYS[4] w: its tasks, hash
-- KEYS[5] b: the registry's bucket 0, hash
-- KEYS[6] k: catch-up, zset
-- KEYS[7] o: pending removals, hash
-- KEYS[8] bc: the name's broadcast channel, hash
-- KEYS[9] bt: broadcast queue, zset by sequence number
-- KEYS[10] v: newest states by audience, hash
-- ARGV[1] push id
-- ARGV[2] owner
-- ARGV[3] lease, ms
-- ARGV[4] least buckets of a shard
-- ARGV[5] most shards
-- ARGV[6] retention, ms
-- ARGV[7] least ms between updates; 0 = no pacing
-- ARGV[8] common prefix of the p keys
-- ARGV[9] push id, 16 bytes
-- ARGV[10] most lapses in a row without progress
-- ARGV[11] most updates at priority 10 in an hour; 0 = any number
-- ARGV[12] the same for devices without frequent updates
-- ARGV[13] for a start: field `n` of bucket 0 of its start tokens, which are on another slot; '' = not known
-- Returns one of these:
--   {'idle'}: no push waits.
--   {'other', id}: that push goes first. Call again with its keys.
--   {'gone', unswept pushes}: the record has expired. It was removed from the queue.
--   {'starts', attributes type}: nothing was done. Call again with ARGV[13].
--   {'paced', ms left}: the push may be superseded until then. Put an entry for the name into the timer.
--   {'planned', unswept pushes}: the push has begun, and its shards are in the stream.
--   {'plan', shards, record}: put the shards into the stream, then set w's `planned` (task-planned).
--   {'tail', unswept pushes}: the shards are finished. Claim the catch-up.
--   {'held', ms left}: another worker has the lease of the only shard, or of the catch-up.
--   {'claimed', epoch, position, ahead, record, pending removals of other pushes, poison 0|1}: the caller has shard
--     0/1.
-- Atomic. A lease is an epoch, an owner and a deadline on Redis's own clock. Only the latest epoch can settle.
local id = ARGV[1]
local active = redis.call('HGET', KEYS[1], 'active')
if active and active ~= id then return {'other', active} end
if not active then
    local head = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
    if not head then return {'idle'} end
    if head ~= id then return {'other', head} end
end
local record = redis.call('HGETALL', KEYS[3])
if #record == 0 then
    redis.call('ZREM', KEYS[2], id)
    redis.call('HDEL', KEYS[1], 'active', 'catch')
    redis.call('UNLINK', KEYS[6])
    return {'gone', redis.call('ZCARD', KEYS[2])}
end
local event = redis.call('HGET', KEYS[3], 'event')
if event == 'start' and ARGV[13] == '' and redis.call('HEXISTS', KEYS[4], 'shards') == 0 then
    return {'starts', redis.call('HGET', KEYS[3], 'type') or ''}
end
local now = redis_now()
local interval = tonumber(ARGV[7])
local update = redis.call('HMGET', KEYS[3], 'seq', 'sup', 'until', 'expiry', 'event', 'aud', 'cutoff')
local automatic = update[7]
if not active and interval > 0 and update[2] == '1' then
    -- `paced`: when the last interval began (ms), and the name's last sequence number then. Older pushes (for other
    -- audiences) do not wait, so that an interval has one sweep for each audience.
    local meta = redis.call('HMGET', KEYS[1], 'paced', 'seq')
    local at, before = string.match(meta[1] or '', '^(%d+) (%d+)$')
    if not at or tonumber(update[1]) > tonumber(before) then
        local left = at and math.min(at + interval - now, interval) or 0
        -- Pacing must not delay an update past its deadline.
        local deadline = tonumber(update[3]) or math.huge
        if deadline > now and deadline <= now + left then left = 0 end
        if left > 0 then
            -- If a push that cannot be superseded is queued behind this update, do not pace: the order would delay it
            -- too.
            local alone = true
            for _, other in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
                if redis.pcall('HGET', ARGV[8] .. other, 'sup') ~= '1' then alone = false break end
            end
            if alone then return {'paced', left} end
        end
        redis.call('HSET', KEYS[1], 'paced', string.format('%.0f %s', now, meta[2]))
    end
end
if not active then
    -- From here on, registry-set notes new registrations in k, because the sweep may be past their position. A start
    -- needs no catch-up: a channel that registers a token during its sweep has a card.
    redis.call('HSET', KEYS[1], 'active', id, 'begun', update[1], 'begun_id', id)
    if event == 'start' then redis.call('HDEL', KEYS[1], 'catch') else redis.call('HSET', KEYS[1], 'catch', ARGV[9]) end
    redis.call('UNLINK', KEYS[6])
    redis.call('HSET', KEYS[3], 'state', 'sending')
    if automatic then
        -- Fix the content state of the automatic end here, for all shards and retries. It is that of the last update
        -- for everyone. It is none if a start or an update for another audience began since, because some cards show
        -- another state then.
        local states = redis.call('HGETALL', KEYS[10])
        local forAll = ''
        for i = 1, #states, 2 do
            if states[i] == '*' then
                forAll = states[i + 1]
            elseif string.sub(states[i], 1, 1) ~= '!' then
                forAll = ''
                break
            end
        end
        local seq, told, shows = string.match(forAll, '^(%d+) (%a+) (.+)$')
        if told == 'update' and tonumber(redis.call('HGET', KEYS[1], 'started') or 0) < tonumber(seq) then
            local shown = redis.pcall('HMGET', ARGV[8] .. shows, 'payload', 'state')
            if not shown.err and shown[1] and (shown[2] == 'sending' or shown[2] == 'done') then
                redis.call('HSET', KEYS[3], 'shows', shows, 'shown', shown[1])
                record[#record + 1], record[#record + 2] = 'shown', shown[1]
            end
        end
    elseif event == 'start' then
        redis.call('HSET', KEYS[1], 'started', update[1])
    else
        -- v holds the states that late joiners get. A push for everyone replaces all of them, another one only that of
        -- its audience. An `end` for an audience has a field of its own (`!`) until an `end` for everyone, because the
        -- token of a card that was started before it may come later. Besides `*`, the 16 newest are kept.
        local field = update[6] == '*' and '*' or (update[5] == 'end' and '!' or '') .. redis.sha1hex(update[6])
        local states = redis.call('HGETALL', KEYS[10])
        local oldest, least, count = nil, math.huge, 0
        for i = 1, #states, 2 do
            local isEnd = string.sub(states[i], 1, 1) == '!'
            if field == '*' and (update[5] == 'end' or not isEnd) then
                redis.call('HDEL', KEYS[10], states[i])
            elseif states[i] ~= '*' and states[i] ~= field then
                local seq = tonumber(string.match(states[i + 1], '^%d+'))
                count = count + 1
                if seq < least then oldest, least = states[i], seq end
            end
        end
        if field ~= '*' and count > 15 then redis.call('HDEL', KEYS[10], oldest) end
        redis.call('HSET', KEYS[10], field, string.format('%s %s %s', update[1], update[5], id))
        redis.call('PEXPIRE', KEYS[10], 28800000)
    end
    local most, mostSlow = tonumber(ARGV[11]), tonumber(ARGV[12])
    local asked = redis.call('HMGET', KEYS[3], 'prio', 'event', 'soft', 'resumed')
    -- A resumed push was counted when it began for the first time.
    if most + mostSlow > 0 and asked[1] == '10' and asked[2] == 'update' and not asked[4] then
        -- `budget`: when the hour began with its first update at priority 10 (ms), and how many of them went out since.
        local at, count = string.match(redis.call('HGET', KEYS[1], 'budget') or '', '^(%d+) (%d+)$')
        if not at or now - at >= 3600000 then at, count = string.format('%.0f', now), '0' end
        count = tonumber(count)
        local demote = ''
        if asked[3] == '1' and most > 0 and count >= most then
            demote = 'all'
        elseif asked[3] == '1' and mostSlow > 0 and count >= mostSlow then
            demote = 'slow'
        end
        if demote ~= '' then
            redis.call('HSET', KEYS[3], 'demote', demote)
            record[#record + 1] = 'demote'
            record[#record + 1] = demote
        end
        if demote ~= 'all' then count = count + 1 end
        redis.call('HSET', KEYS[1], 'budget', string.format('%s %d', at, count))
    end
    -- Queue the broadcast here, because pushes begin in order. The field in the record tells the caller to wake a
    -- sender.
    local owned = redis.call('HMGET', KEYS[8], 'state', 'id')
    local channel = owned[1]
    if event == 'start' and channel == 'live' and owned[2] then
        -- All shards and retries use the same broadcast channel, even if the name loses it meanwhile.
        redis.call('HSET', KEYS[3], 'input', owned[2])
        record[#record + 1], record[#record + 2] = 'input', owned[2]
    end
    if channel == 'live' or channel == 'wanted' then
        local push = redis.call('HMGET', KEYS[3], 'aud', 'event', 'bc')
        if push[1] == '*' and push[2] ~= 'start' and not automatic and push[3] ~= 'delivered' then
            redis.call('HSET', KEYS[3], 'bc', 'waiting')
            redis.call('HSET', KEYS[4], 'bc', 1)
            redis.call('ZADD', KEYS[9], update[1], id)
            redis.call('PEXPIRE', KEYS[9], ARGV[6])
            record[#record + 1], record[#record + 2] = 'bc', 'waiting'
        end
    end
end
local task = redis.call('HMGET', KEYS[4], 'shards', 'planned', '0/1:e', '0/1:d', '0/1:p', '0/1:a', 'left', '0/1:o', '0/1:c',
    'owed')
local shards = tonumber(task[1])
if not shards then
    -- `n` is `<buckets>:<fingerprint of the hash key>`, absent for one bucket. Only the number matters here.
    local count = event == 'start' and ARGV[13] or redis.call('HGET', KEYS[5], 'n') or '1'
    local n = tonumber(string.match(count, '^%d+')) or 1
    shards = 1
    while shards < tonumber(ARGV[5]) and shards * 2 * tonumber(ARGV[4]) <= n do shards = shards * 2 end
    redis.call('HSET', KEYS[4], 'shards', shards, 'left', shards)
    redis.call('PEXPIRE', KEYS[4], ARGV[6])
end
if task[7] == '0' then
    local left = tonumber(redis.call('HGET', KEYS[4], 'c:d') or 0) - now
    if left > 0 then return {'held', left} end
    return {'tail', redis.call('ZCARD', KEYS[2])}
end
if shards > 1 then
    if task[2] then return {'planned', redis.call('ZCARD', KEYS[2])} end
    return {'plan', shards, record}
end
if task[4] and tonumber(task[4]) > now then return {'held', tonumber(task[4]) - now} end
local epoch, lapses = tonumber(task[3] or 0) + 1, tonumber(task[9] or 0)
-- A lease that was given back has no owner, so this is no lapse.
if task[8] and task[8] ~= '' then lapses = lapses + 1 end
redis.call('HSET', KEYS[4], '0/1:e', epoch, '0/1:o', ARGV[2], '0/1:d', string.format('%.0f', now + ARGV[3]), '0/1:c', lapses)
return {'claimed', epoch, task[5] or '0', task[6] or '', record, redis.call('HLEN', KEYS[7]) - tonumber(task[10] or 0),
    lapses > tonumber(ARGV[10]) and 1 or 0}
