-- Fragment for task-settle: the operations of a page, see there. push: see shared-waiting
-- uses lone, waiting, refusal

-- Settles a lone push whose only page is settled, and that needs a hash of its own. life, tell: as pack_kept says.
-- counts: from `at` on, `add`, a field of the ledger and its number, in turns
local function settle_lone(n, p, lone, life, tell, finished, counts, at)
    local _, record = read_lone(lone, 'done')
    for _, value in ipairs({'expanded', 1, 'finished', finished}) do record[#record + 1] = value end
    for i = at, #counts, 3 do record[#record + 1], record[#record + 2] = counts[i + 1], counts[i + 2] end
    redis.call('HSET', p, unpack(record))
    redis.call('PEXPIRE', p, life)
    redis.call('HDEL', n, 'lone', 'sent', 'handed', 'before')
    tell_end(p, tell, 'done', finished)
end

-- Applies the operations of `list` from `at` on, in a script that writes its counts afterwards. Returns the channels that
-- wait, as join_queues wants them, and fields and values of pending removals. Nil: an operation is unknown. Sets
-- `refusal` of the push to the reason of the last platform, once all of them refuse it.
-- n: name meta. f: late joiners. id: of the push
local function page_operations(push, n, f, id, list, at)
    local waiting, removals = {}, {}
    while at <= #list do
        local op, a, b, c = list[at], list[at + 1], list[at + 2], list[at + 3]
        if op == 'dead' then
            give_up(push.dl, a, b, false)
        elseif op == 'add' then
            count(push.p, a, tonumber(b))
            push.reaches = push.reaches or a == 'delivered'
            if a == 'expired' then note_expired(push.dl, b, push.now, push.retention) end
        elseif op == 'remove' then
            removals[#removals + 1] = push.raw .. a
            removals[#removals + 1] = b
        elseif op == 'retry' then
            waiting[#waiting + 1] = {a, c, platform = tonumber(list[at + 4]), due = b, isCounted = true}
            at = at + 2
        elseif op == 'open' then
            waiting[#waiting + 1] = {a, b, platform = tonumber(list[at + 5]), due = push.now, isCounted = true,
                open = c, length = list[at + 4]}
            at = at + 3
        elseif op == 'join' then
            waiting[#waiting + 1] = {a, b, platform = tonumber(c)}
            at = at + 1
        elseif op == 'refuse' then
            if refuse(push.p, a, b, c) then push.refusal = b end
            at = at + 1
        elseif op == 'caughtUp' or op == 'reached' then
            -- After a repeated last settlement k may be of the next push.
            if redis.call('HGET', n, 'active') == id and redis.call('ZSCORE', push.k, a) == b then
                redis.call('ZREM', push.k, a)
                if op == 'reached' then redis.call('HDEL', f, a) end
            end
        else
            return nil
        end
        at = at + 3
    end
    return waiting, removals
end
