-- Fragment for dead-retry: the shards of a stopped push go on.

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
    return left
end
