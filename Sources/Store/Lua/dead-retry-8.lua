-- Takes up again what a push gave up: the kept channels wait for an attempt, and a push that was stopped goes on where it
-- stopped. Only if nothing newer went out under its name and it is not past its deadline: nothing goes backwards.
-- KEYS  1 n  2 q  3 p  4 w  5 r  6 h  7 dl (what it gave up, hash)  8 dl:c (channels, hash)
-- ARGV  1 push id  2 the same, 16 bytes  3 deadline ms  4 retention ms  5 most channels of the name that may wait
-- Returns {'none'}, {'expired'}, {'open'}: cancelled or not finished, {'newer', push id or ''}, {'busy'}: too many wait, or
--         {'taken', tokens, resumed 0|1}
-- In a channel's list nothing stands behind this push, since nothing newer was begun.
local id, raw = ARGV[1], ARGV[2]
local n, q, p, w, r, h, dl, dlc = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local push = redis.call('HMGET', p, 'state', 'seq', 'stopped', 'targets', 'expanded')
if not push[1] or redis.call('EXISTS', dl) == 0 then return {'none'} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if now >= tonumber(ARGV[3]) then return {'expired'} end
local resumes = push[1] == 'failed' and push[3]
if push[1] ~= 'done' and push[1] ~= 'expired' and push[1] ~= 'sending' and not resumes then return {'open'} end
-- Its sweep still ends: other shards are about to say where they stopped.
if resumes and push[5] ~= '1' then return {'open'} end
local name = redis.call('HMGET', n, 'begun', 'begun_id', 'ended')
if tonumber(name[1] or '0') > tonumber(push[2]) then return {'newer', name[2] or ''} end

local taken = 0
-- Places that were counted when it was stopped and still stand in the lists: they count again.
if resumes then
    if redis.call('HLEN', h) > tonumber(ARGV[5]) then return {'busy'} end
    local lists = redis.call('HGETALL', h)
    for i = 1, #lists, 2 do
        for at = 4, #lists[i + 1], 16 do
            if string.sub(lists[i + 1], at, at + 15) == raw then
                taken = taken + 1
                redis.call('HDEL', dlc, lists[i])
            end
        end
    end
end
for _, channel in ipairs(redis.call('HKEYS', dlc)) do
    local list = redis.call('HGET', h, channel)
    if not (list and #list >= 19 and string.sub(list, -16) == raw) then
        if not list or #list < 19 then
            list = '\0\0\0'
            redis.call('ZADD', r, string.format('%.0f', now), channel)
        end
        redis.call('HSET', h, channel, list .. raw)
        taken = taken + 1
    end
end
-- An `end` that reached nobody closed nothing: it is on its way again.
local closes = redis.call('HGET', p, 'closes')
if closes then close_name(closes, push[2], string.format('%.0f', now), id) end
redis.call('HINCRBY', p, 'failed', -taken)
redis.call('HINCRBY', w, 'wait', taken)
redis.call('HSET', p, 'state', 'sending')
redis.call('HDEL', p, 'finished')
if resumes then
    local shards, left = 1, 0
    local parts = redis.call('HGETALL', dl)
    for i = 1, #parts, 2 do
        local part, count = string.match(parts[i], '^p:(%d+/(%d+))$')
        if part then
            local position, epoch, ahead = string.match(parts[i + 1], '^(%d+) (%d+) (.*)$')
            shards, left = tonumber(count), left + 1
            -- Epochs go on, so that no lease of before comes to life again.
            redis.call('HSET', w, part .. ':p', position, part .. ':e', epoch, part .. ':a', ahead)
        end
    end
    if left > 0 then
        -- Shards that had come to their end before are not begun again.
        for index = 0, shards - 1 do
            local part = string.format('%d/%d', index, shards)
            if redis.call('HEXISTS', dl, 'p:' .. part) == 0 then redis.call('HSET', w, part .. ':f', 1) end
        end
        redis.call('HSET', w, 'shards', shards, 'left', left)
        redis.call('HSET', p, 'state', 'queued')
        redis.call('HDEL', p, 'expanded')
        redis.call('ZADD', q, push[2], id)
    end
    redis.call('HDEL', p, 'stopped')
end
redis.call('UNLINK', dl, dlc)
for _, key in ipairs({n, q, r, h, w}) do redis.call('PEXPIRE', key, ARGV[4]) end
return {'taken', taken, resumes and 1 or 0}
