-- Fragment for dead-retry: the shards of a stopped push go on, and channels of a dead letter wait again.
-- uses constants, queue, tally

local function keep_name(n, q, retention)
    for _, key in ipairs({n, q}) do redis.call('PEXPIRE', key, string.format('%d', retention + NAME_SLACK)) end
end

-- Puts the shards back to where they stopped. Returns how many go on.
-- dl: the push's dead letter, with positions in `p:<shard>`. w: its tasks
local function resume_shards(dl, w)
    local shards, left, goesOn = 1, 0, {}
    local parts = redis.call('HGETALL', dl)
    for i = 1, #parts, 2 do
        local part, count = string.match(parts[i], '^p:(%d+/(%d+))$')
        if part then
            local position, epoch, ahead = string.match(parts[i + 1], '^(%d+) (%d+) (.*)$')
            shards, left, goesOn[part] = tonumber(count), left + 1, true
            -- Epochs continue, so that no older lease becomes valid again.
            redis.call('HSET', w, part .. ':p', position, part .. ':e', epoch, part .. ':a', ahead)
            -- The tasks still exist if a removal was pending.
            redis.call('HDEL', w, part .. ':f', part .. ':o', part .. ':d', part .. ':c', 'planned')
            redis.call('HDEL', dl, parts[i])
        end
    end
    if left == 0 then return 0 end
    -- Shards that had finished do not begin again.
    for index = 0, shards - 1 do
        local part = string.format('%d/%d', index, shards)
        if not goesOn[part] then redis.call('HSET', w, part .. ':f', 1) end
    end
    redis.call('HSET', w, 'shards', shards, 'left', left)
    -- The shard for other platforms.
    if goesOn[string.format('%d/%d', shards, shards)] then redis.call('HSET', w, 'split', 1) end
    return left
end

-- Moves channels from a dead letter to the ends of their retry queues, unless they wait there. Returns how many. The
-- caller writes the counts. A dead letter does not tell a channel's platform, so only a queue may.
-- found: channel and reason in turns. p, w: the push and its tasks. dl, dlc: the dead letter and its channels.
-- r, h: waiting channels, their queues
local function queue_again(found, p, w, dl, dlc, r, h, raw, now)
    local moved = 0
    for i = 1, #found, 2 do
        local channel, reason = found[i], 'r:' .. found[i + 1]
        local queue = redis.call('HGET', h, channel)
        if not (has_pushes(queue) and last_of(queue) == raw) then
            if not has_pushes(queue) then
                queue = header(0, 0, 0)
                redis.call('ZADD', r, now, channel)
            end
            redis.call('HSET', h, channel, queue .. raw)
            count(p, 'failed', -1, platform_of(queue))
            count(w, 'wait', 1, platform_of(queue))
            moved = moved + 1
        end
        if redis.call('HDEL', dlc, channel) == 1 and redis.call('HINCRBY', dl, reason, -1) <= 0 then
            redis.call('HDEL', dl, reason)
        end
    end
    return moved
end
