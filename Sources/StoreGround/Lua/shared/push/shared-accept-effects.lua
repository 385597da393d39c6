-- Part of push-accept: the effects of a push on other pushes and on its name, once it is written.
-- uses endings

-- Ends the superseded pushes that were retried by an operator, and tells the end of the others if events are wanted.
local function end_superseded()
    for _, old in ipairs(superseded) do
        if withTasks[old] then
            end_push(ps .. old, ws .. old, 'superseded', stamp)
            finish(ps .. old, ws .. old, stamp)
        elseif tells == '1' then
            tell_end(ps .. old, redis.call('HGET', ps .. old, 'tell'), 'superseded', stamp)
        end
    end
end

-- Opens the name for a start, because pushes after it are for the cards that it creates.
local function note_start()
    redis.call('HSET', p, 'type', attributesType, 'restart', restart)
    open_name(n)
end

-- Notes an end that a publisher sent.
local function note_end_of_cards()
    redis.call('HSET', n, 'ending', stamp)
    if audience == '*' then
        -- From now on, older starts do not go out. A started channel whose token comes later gets this end.
        redis.call('HSET', p, 'closes', n)
        return close_name(n, seq, stamp, id)
    end
    -- A card that began later gets nothing from before, if this end is for its channel. The newest first, 8 at most.
    local ends = {string.format('%s:%s:%s', seq, stamp, id)}
    for entry in string.gmatch(redis.call('HGET', n, 'some_ends') or '', '%S+') do
        if #ends < 8 then ends[#ends + 1] = entry end
    end
    redis.call('HSET', n, 'some_ends', table.concat(ends, ' '))
end
