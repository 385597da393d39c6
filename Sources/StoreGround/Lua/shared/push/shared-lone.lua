-- Fragment for scripts that may meet a lone push (shared-lone-words).
-- uses constants, id, lone-words, handed

-- Returns a lone push's id, the fields of its record, its sequence number, and how long the record is kept (ms).
-- newest: the name's newest state, which the push became when it began. `waited` says how long it waited until then: if a
-- second or more, because most pushes shall take nothing for it, and 4.6 hours at most, as a kept record can say.
local function read_lone(lone, state, newest)
    local id, seq, ts, prio, deadline, created, life, sup, expiry, soft, prev, tell, tp, by, start =
        string.match(lone, LONE_WORDS)
    local record = {'seq', seq, 'ts', ts, 'event', 'update', 'prio', prio, 'aud', '*', 'until', deadline,
        'created', created, 'state', state, 'payload', string.sub(lone, start)}
    local function set(field, value, absent)
        if value ~= absent then record[#record + 1], record[#record + 2] = field, value end
    end
    set('sup', sup, '-')
    set('expiry', expiry, '-')
    set('soft', soft, '-')
    set('prev', prev, '-')
    set('tell', tell, '-')
    set('tp', tp, '-')
    set('by', by, '')
    local begunID, begun = string.match(newest or '', '^%d+ update (%S+) (%d+)')
    local waited = begunID == id and math.min(begun - created, 2 ^ 24 - 1) or 0
    if waited >= 1000 then set('waited', string.format('%d', waited)) end
    return id, record, seq, life
end

-- Gives a lone push keys of its own, because something happens to it that is not the usual case. n: name meta
local function unpack_lone(n)
    local lone, sent, handed, newest = unpack(redis.call('HMGET', n, 'lone', 'sent', 'handed', 'newest'))
    if not lone then return end
    if handed then
        take_back(n, handed)
        sent, newest = unpack(redis.call('HMGET', n, 'sent', 'newest'))
    end
    local before, tag = string.match(n, '^([^{]*):n:({.*)$')
    local id, record, seq, life = read_lone(lone, sent and 'sending' or 'queued', newest)
    local p, q, w = before .. ':p:' .. tag .. ':' .. id, before .. ':q:' .. tag, before .. ':w:' .. tag .. ':' .. id
    redis.call('HSET', p, unpack(record))
    -- As shared-silent, whose function would be one local too many for some scripts.
    local parts = string.find(lone, '\0', 1, true)
    if parts and string.find(lone, '^%z[^%z]*%z[^%z]*%z[^%z]*%z[^%z]*%z1%z', parts) then
        redis.call('HSET', p, 'silent', '1')
    end
    redis.call('PEXPIRE', p, life)
    redis.call('ZADD', q, seq, id)
    redis.call('PEXPIRE', q, string.format('%d', life + NAME_SLACK))
    if sent then
        local epoch, deadline, length, owner = string.match(sent, '^(%d+) (%d+) (%d+) (.*)$')
        redis.call('HSET', w, 'shards', 1, 'left', 1, '0/1:e', epoch, '0/1:o', owner, '0/1:d', deadline,
            '0/1:l', length, '0/1:c', 0)
        redis.call('PEXPIRE', w, life)
        redis.call('HSET', n, 'active', id, 'catch', raw_id(id))
    end
    redis.call('HDEL', n, 'lone', 'sent')
end
