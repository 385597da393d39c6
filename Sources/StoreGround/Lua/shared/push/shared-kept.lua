-- Fragment for scripts that look at a push that may be a kept record: a field of its name's block of some hours, and not
-- p (docs/adr/0053-forms-of-a-push.md). Once a push is kept, it may still get p, but none that has p is kept later.
-- The field is the push id, 16 bytes. The value, numbers with the most significant byte first:
--   flags 2, sequence 3, acceptance less the id's time (ms) + KEPT_SHIFT 3, deadline 4 and end 4 (ms after acceptance)
--   KEPT_PREV: the push before it 16. KEPT_RECEIPTS: shown 2, ended 2, dismissed 2
--   KEPT_TIME: its timestamp 5, which else is the second of its acceptance
--   KEPT_SOME: targets 2, all delivered. KEPT_COUNTS: how many counts 1, each length 1, number 3, field. Neither: 1 target,
--   delivered
--   KEPT_BY: length 1, who published it. KEPT_TP: length 1, traceparent
--   the payload; KEPT_FRAMED: without KEPT_FRAME before it and KEPT_FRAME_END behind it
-- Flags alone: KEPT_LOW priority 5, KEPT_SUP can be superseded, KEPT_EXPIRY its deadline is its expiry, KEPT_ONCE its
-- expiry is 0, KEPT_SOFT, KEPT_TOLD its end is in the outbox. One of KEPT_LATER: a later version's.
-- uses kept-numbers, id, silent

-- Where the record of a push is kept. p: the key of its own that it would have
local function kept_place(p)
    local before, tag, id = string.match(p, '^([^{]*):p:({[^}]*}:)(.*)$')
    local raw = raw_id(id or '')
    if not raw then return nil end
    return string.format('%s:pk:%s%d', before, tag, math.floor(struct.unpack('>I6', raw) / KEPT_BLOCK)), raw
end

-- Returns flags, sequence number and, in ms, acceptance, deadline and end. Nil if this version cannot read the record.
local function kept_head(raw, value)
    if not value or #value < KEPT_SIZE then return nil end
    local flags, seq, shift, lasting, took = struct.unpack(KEPT_HEAD, value)
    local created = struct.unpack('>I6', raw) + shift - KEPT_SHIFT
    if flags < KEPT_LATER then return flags, seq, created, created + lasting, created + took end
end

-- Returns the push before it, false if there is none.
local function kept_prev(flags, value)
    return bit.band(flags, KEPT_PREV) ~= 0 and id_text(string.sub(value, KEPT_SIZE + 1, KEPT_SIZE + 16))
end

-- Returns where the counts of its receipts are, or would be: the position before and the one behind them.
local function kept_receipts(flags)
    local from = bit.band(flags, KEPT_PREV) == 0 and KEPT_SIZE or KEPT_SIZE + 16
    return from, bit.band(flags, KEPT_RECEIPTS) == 0 and from or from + 6
end

-- The fields of a kept record, as p has them. Nil if there is none that this version can read.
local function read_kept(raw, value)
    local flags, seq, created, deadline, finished = kept_head(raw, value)
    if not flags then return nil end
    local function has(flag) return bit.band(flags, flag) ~= 0 end
    local function digits(number) return string.format('%d', number) end
    local before, at = kept_receipts(flags)
    local push = {event = 'update', aud = '*', state = 'done', expanded = '1', seq = digits(seq),
        created = digits(created), finished = digits(finished), ['until'] = digits(deadline),
        prio = has(KEPT_LOW) and '5' or '10', prev = kept_prev(flags, value) or nil,
        sup = has(KEPT_SUP) and digits(has(KEPT_ONCE) and created or deadline) or nil,
        expiry = has(KEPT_ONCE) and '0' or has(KEPT_EXPIRY) and digits(deadline / 1000) or nil,
        soft = has(KEPT_SOFT) and '1' or nil, tell = has(KEPT_TOLD) and '-1' or nil}
    if has(KEPT_RECEIPTS) then
        local counts = {struct.unpack('>I2I2I2', value, before + 1)}
        for i, field in ipairs({'r:shown', 'r:ended', 'r:dismissed'}) do
            if counts[i] > 0 then push[field] = digits(counts[i]) end
        end
    end
    -- Reads numbers, or a text that its length is before.
    local function take(form)
        local number
        number, at = struct.unpack(form, value, at + 1)
        at = at - 1
        return number
    end
    local function text(size)
        at = at + size
        assert(at <= #value)
        return string.sub(value, at - size + 1, at)
    end
    push.ts = digits(has(KEPT_TIME) and take('>I5') or math.floor(created / 1000))
    if has(KEPT_COUNTS) then
        for _ = 1, take('B') do
            local size, number = take('B'), take('>I3')
            push[text(size)] = digits(number)
        end
    else
        push.targets = digits(has(KEPT_SOME) and take('>I2') or 1)
        push.delivered = push.targets
    end
    if has(KEPT_BY) then push.by = text(take('B')) end
    if has(KEPT_TP) then push.tp = text(take('B')) end
    local content = string.sub(value, at + 1)
    push.payload = has(KEPT_FRAMED) and string.format(KEPT_FRAME, push.ts) .. content .. KEPT_FRAME_END or content
    push.silent = reaches_silent(push.payload) and '1' or nil
    return push
end

-- The same of the push that would have the key p; its block and its field.
local function kept_push(p)
    local block, raw = kept_place(p)
    local isRead, push = pcall(read_kept, raw, block and redis.call('HGET', block, raw))
    return isRead and push, block, raw
end

-- Gives a kept record a hash of its own, because something happens to its push that a record has no place for. Returns
-- its state, or nil if the push is not kept.
local function unpack_kept(p)
    local push, block, raw = kept_push(p)
    if not push then return nil end
    local record = {}
    for field, text in pairs(push) do record[#record + 1], record[#record + 2] = field, text end
    local life = redis.call('PTTL', block)
    redis.call('HSET', p, unpack(record))
    redis.call('PEXPIRE', p, string.format('%d', math.max(life, 1)))
    redis.call('HDEL', block, raw)
    return push.state
end
