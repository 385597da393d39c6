-- Takes up again what a push gave up, in steps of a few hundred channels: each is complete by itself, so that a death between them
-- leaves the rest in the dead letter, for another call. Only if nothing newer went out under the push's name and it is not past its
-- deadline: nothing goes backwards.
-- KEYS  1 n  2 q  3 p  4 w  5 r  6 h  7 dl (what it gave up, hash)  8 dl:c (channels, hash)
-- ARGV  1 push id  2 the same, 16 bytes  3 deadline ms  4 retention ms  5 step: 'look', 'resume' a push that was stopped, or 'take'
--       6 of 'take': cursor in dl:c, 0 at first  7 about how many channels
-- Returns {'none'}, {'expired'}, {'open'}: cancelled, not finished, or stopped once more, {'newer', push id or ''}
--         'look': {'takes'}, or {'resumes'}: it was stopped. First its places leave the lines (dead-collect), then 'resume'.
--         'resume': {'resumed'}: its sweep goes on where it stopped; an entry for it is to be put into the stream.
--         'take': {'taken', how many, next cursor, how many are left}; with none left the dead letter is gone.
-- In a channel's list nothing stands behind this push, since nothing newer was begun.
local id, raw, step = ARGV[1], ARGV[2], ARGV[5]
local n, q, p, w, r, h, dl, dlc = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local push = redis.call('HMGET', p, 'state', 'seq', 'stopped', 'expanded')
local state = push[1]
if not state or redis.call('EXISTS', dl) == 0 then return {'none'} end
local now = redis_now()
if now >= tonumber(ARGV[3]) then return {'expired'} end
local resumes = state == 'failed' and push[3]
-- While a stopped push's sweep still ends, other shards are about to say where they stopped.
if resumes and (push[4] ~= '1' or step == 'take') then return {'open'} end
local isOpen = state == 'done' or state == 'expired' or state == 'sending' or state == 'queued'
if not isOpen and not resumes then return {'open'} end
local name = redis.call('HMGET', n, 'begun', 'begun_id')
if tonumber(name[1] or '0') > tonumber(push[2]) then return {'newer', name[2] or ''} end
if step == 'look' then return {resumes and 'resumes' or 'takes'} end

-- An `end` that reached nobody closed nothing: it is on its way again.
local function close_again()
    local closes = redis.call('HGET', p, 'closes')
    if closes then close_name(closes, push[2], string.format('%.0f', now), id) end
end

if step == 'resume' then
    -- Another call was quicker.
    if not resumes then return {'resumed'} end
    local shards, left, goesOn = 1, 0, {}
    local parts = redis.call('HGETALL', dl)
    for i = 1, #parts, 2 do
        local part, count = string.match(parts[i], '^p:(%d+/(%d+))$')
        if part then
            local position, epoch, ahead = string.match(parts[i + 1], '^(%d+) (%d+) (.*)$')
            shards, left, goesOn[part] = tonumber(count), left + 1, true
            -- Epochs go on, so that no lease of before comes to life again.
            redis.call('HSET', w, part .. ':p', position, part .. ':e', epoch, part .. ':a', ahead)
            -- The tasks are still there if a removal was owed.
            redis.call('HDEL', w, part .. ':f', part .. ':o', part .. ':d', part .. ':c', 'planned')
            redis.call('HDEL', dl, parts[i])
        end
    end
    redis.call('HSET', p, 'state', 'sending')
    if left > 0 then
        -- Shards that had come to their end before are not begun again.
        for index = 0, shards - 1 do
            local part = string.format('%d/%d', index, shards)
            if not goesOn[part] then redis.call('HSET', w, part .. ':f', 1) end
        end
        redis.call('HSET', w, 'shards', shards, 'left', left)
        -- `resumed`: push-begin has counted it before.
        redis.call('HSET', p, 'state', 'queued', 'resumed', 1)
        redis.call('HDEL', p, 'expanded')
        redis.call('ZADD', q, push[2], id)
        redis.call('HDEL', n, 'firm')
    end
    redis.call('HDEL', p, 'stopped', 'finished')
    close_again()
    redis.call('HDEL', dl, 'stop')
    -- A dead letter of positions alone: it is kept until 'take' finds it empty.
    redis.call('HSET', dl, 'at', string.format('%.0f', now))
    for _, key in ipairs({n, q, w}) do redis.call('PEXPIRE', key, ARGV[4]) end
    return {'resumed'}
end

local found = redis.call('HSCAN', dlc, ARGV[6], 'COUNT', ARGV[7])
local taken = 0
for i = 1, #found[2], 2 do
    local channel = found[2][i]
    local list = redis.call('HGET', h, channel)
    if not (list and #list >= 19 and string.sub(list, -16) == raw) then
        if not list or #list < 19 then
            list = '\0\0\0'
            redis.call('ZADD', r, string.format('%.0f', now), channel)
        end
        redis.call('HSET', h, channel, list .. raw)
        taken = taken + 1
    end
    local reason = 'r:' .. found[2][i + 1]
    if redis.call('HDEL', dlc, channel) == 1 and redis.call('HINCRBY', dl, reason, -1) <= 0 then
        redis.call('HDEL', dl, reason)
    end
end
if taken > 0 then
    redis.call('HINCRBY', p, 'failed', -taken)
    redis.call('HINCRBY', w, 'wait', taken)
    close_again()
    if state ~= 'queued' then redis.call('HSET', p, 'state', 'sending') end
    redis.call('HDEL', p, 'finished')
    for _, key in ipairs({n, r, h, w}) do redis.call('PEXPIRE', key, ARGV[4]) end
end
local left = redis.call('HLEN', dlc)
if left == 0 then
    redis.call('UNLINK', dl)
    -- A push that was stopped behind its last page has nothing left to wait for.
    finish(p, w, string.format('%.0f', now))
end
return {'taken', taken, found[1], left}
