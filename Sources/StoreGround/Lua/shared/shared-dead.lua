-- Fragment for scripts that write a push's dead letter. With it an operator decides about what the push gave up.
-- dl: hash. It counts tokens by reason (`r:`) and says why the push was stopped (`stop`). dl:c holds its first
-- channels, and `over` counts the others. retention: how long it is kept, ms
-- uses constants, endings

-- Given up in this script: channel and reason in turns, by dl.
local givenUp = {}

-- Keeps a channel that a push gave up. write_entries stores it. isCounted: `r:` counts this token already
local function give_up(dl, channel, reason, isCounted)
    if not isCounted then count(dl, 'r:' .. reason, 1) end
    local list = givenUp[dl] or {}
    givenUp[dl] = list
    list[#list + 1] = channel
    list[#list + 1] = reason
end

-- Keeps a channel whose entry of a stopped push leaves its retry queue. The stop has counted the token.
local function keep_stopped(p, dl, channel)
    local reason = redis.call('HGET', p, 'stopped')
    if reason and redis.call('EXISTS', dl) == 1 then give_up(dl, channel, reason, true) end
end

-- Counts a channel of a push that was stopped before. It is kept like those that waited when the push was stopped.
-- reason: why, if APNs or a poison task stopped it. platform: of the channel
local function count_stopped(p, dl, channel, state, reason, platform)
    count(p, state == 'failed' and 'failed' or state == 'superseded' and state or 'skipped', 1, platform)
    if state == 'failed' and reason and redis.call('EXISTS', dl) == 1 then give_up(dl, channel, reason, false) end
end

-- Tells an operator how many tokens expired unsent; a broadcast counts as one. No channel is kept for a retry.
local function note_expired(dl, count, now, retention)
    redis.call('HINCRBY', dl, 'r:Expired', count)
    redis.call('HSET', dl, 'at', now)
    redis.call('PEXPIRE', dl, retention)
end

-- Stops a push early, for a reason. Its dead letter counts its queue entries, whose channels are kept one by one later.
local function stop_early(p, w, dl, reason, now, retention)
    redis.call('HSET', dl, 'stop', reason, 'at', now)
    local waiting = tonumber(redis.call('HGET', w, 'wait') or 0)
    if waiting > 0 then redis.call('HINCRBY', dl, 'r:' .. reason, waiting) end
    redis.call('PEXPIRE', dl, retention)
    end_push(p, w, 'failed', now)
    redis.call('HSET', p, 'stopped', reason)
end

-- Stores the channels that the script gave up and its counts, then finishes pushes. Call it after all entries.
local function write_entries(now, retention)
    for dl, list in pairs(givenUp) do
        local room = 2 * math.max(DEAD_LETTER_CHANNELS - redis.call('HLEN', dl .. ':c'), 0)
        if #list > room then count(dl, 'over', (#list - room) / 2) end
        for at = #list, room + 1, -1 do list[at] = nil end
        call_with_list('HSET', dl .. ':c', list)
        redis.call('PEXPIRE', dl .. ':c', retention)
        redis.call('HSET', dl, 'at', now)
        redis.call('PEXPIRE', dl, retention)
    end
    givenUp = {}
    finish_pushes(now)
end
