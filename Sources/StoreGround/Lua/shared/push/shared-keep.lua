-- Fragment for task-settle: a lone push that ended in the usual case becomes a kept record, see shared-kept.
-- uses kept-numbers, id, lone-words

-- Returns the record, or nil if this push needs a hash of its own; how long it is kept (ms), and `tell` or nil.
-- raw: its id, 16 bytes. counts: from `at` on, `add`, a field of the ledger and its number, in turns. `waited` joins them.
-- newest: see read_lone. Inline, because a function costs each settlement more.
local function pack_kept(lone, raw, finished, newest, counts, at)
    local id, seq, ts, prio, deadline, created, life, sup, expiry, soft, prev, tell, tp, by, start =
        string.match(lone, LONE_WORDS)
    local content = string.sub(lone, start)
    tell = tell ~= '-' and tell
    local begunID, begun = string.match(newest or '', '^%d+ update (%S+) (%d+)')
    local waited = begunID == id and math.min(begun - created, 2 ^ 24 - 1) or 0
    if waited >= 1000 then
        counts[#counts + 1], counts[#counts + 2], counts[#counts + 3] = 'add', 'waited', string.format('%d', waited)
    end
    -- A push that was accepted long after its id was made would lengthen the life of its block.
    local shift = created - struct.unpack('>I6', raw)
    local lasting, took = deadline - created, finished - created
    local isOrdinary = #by < 256 and #tp < 256 and math.abs(shift) <= KEPT_LATE and tonumber(seq) < 2 ^ 24
        and lasting >= 0 and lasting < 2 ^ 32 and took >= 0 and took < 2 ^ 32
    if not isOrdinary then return nil, life, tell end

    local flags, rest = 0, ''
    if prio == '5' then flags = flags + KEPT_LOW elseif prio ~= '10' then return nil, life, tell end
    if expiry == '0' then
        flags = flags + KEPT_ONCE
    elseif expiry ~= '-' then
        if expiry .. '000' ~= deadline then return nil, life, tell end
        flags = flags + KEPT_EXPIRY
    end
    if sup ~= '-' then
        if sup ~= (expiry == '0' and created or deadline) then return nil, life, tell end
        flags = flags + KEPT_SUP
    end
    if soft ~= '-' then flags = flags + KEPT_SOFT end
    if tell then flags = flags + KEPT_TOLD end
    if prev ~= '-' then
        rest = raw_id(prev)
        if not rest then return nil, life, tell end
        flags = flags + KEPT_PREV
    end
    if tonumber(ts) ~= math.floor(created / 1000) then
        flags, rest = flags + KEPT_TIME, rest .. struct.pack('>I5', ts)
    end
    -- Most pushes reach all of their targets, and most have one.
    local first, second, number = counts[at + 1], counts[at + 4], tonumber(counts[at + 2])
    local isWhole = #counts == at + 5 and counts[at + 2] == counts[at + 5] and number < 65536
        and (first == 'targets' and second == 'delivered' or first == 'delivered' and second == 'targets')
    if not isWhole then
        flags, rest = flags + KEPT_COUNTS, rest .. string.char((#counts - at + 1) / 3)
        for i = at, #counts, 3 do
            local field, count = counts[i + 1], tonumber(counts[i + 2])
            if #field > 255 or count < 0 or count >= 2 ^ 24 then return nil, life, tell end
            rest = rest .. struct.pack('>BI3', #field, count) .. field
        end
    elseif number ~= 1 then
        flags, rest = flags + KEPT_SOME, rest .. struct.pack('>I2', number)
    end
    if by ~= '' then flags, rest = flags + KEPT_BY, rest .. string.char(#by) .. by end
    if tp ~= '-' then flags, rest = flags + KEPT_TP, rest .. string.char(#tp) .. tp end
    local frame = string.format(KEPT_FRAME, ts)
    if string.sub(content, 1, #frame) == frame and string.sub(content, -#KEPT_FRAME_END) == KEPT_FRAME_END then
        flags, content = flags + KEPT_FRAMED, string.sub(content, #frame + 1, -#KEPT_FRAME_END - 1)
    end
    local record = struct.pack(KEPT_HEAD, flags, seq, shift + KEPT_SHIFT, lasting, took) .. rest .. content
    return #record <= KEPT_MOST and record, life, tell
end
