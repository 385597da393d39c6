-- Part of push-accept: the fields of the name, and the usual case, a lone push (shared-lone-words). It sees the script's
-- names, because to hand them over costs each publish more.
-- uses pacing-left

-- The name's fields after this push, and its new life (ms) if that is to be prolonged: it lives longer than its pushes,
-- so that most publishes need not do that. wakes: the new `woken`
local function name_fields(wakes)
    local nameLife = retention + NAME_SLACK
    local renews = not kept or now + retention > tonumber(kept) or tonumber(kept) > now + nameLife + NAME_SLACK
    -- A publisher's timestamps need not be newer than an automatic end's.
    local fields = {'seq', seq, 'last', id, 'woken', wakes,
        not isAutomatic and 'ts' or nil, not isAutomatic and digits or nil}
    if renews then fields[#fields + 1], fields[#fields + 2] = 'kept', string.format('%d', now + nameLife) end
    if not isNew then fields[#fields + 1], fields[#fields + 2] = 'top', greatest end
    return fields, renews and string.format('%d', nameLife)
end

-- Looks at one token of the name: 1 if its channel follows. 0: unknown. A tombstone is odd.
-- tokens: all of the name, if they are read already
local function followed(tokens)
    local token = asks == '1' and (tokens or redis.pcall('HRANDFIELD', b, 1, 'WITHVALUES'))[2]
    return token and (string.byte(token) or 1) % 2 == 0 and 1 or 0
end

-- Notes that the name has work, in the same step: if its entry is lost, the reconciler finds it. A handed push takes the
-- name out at its end (task-settle), of other names the reconciler does. `stamp` may be ahead of now.
local function note_open()
    if open ~= '' then redis.call('ZADD', open, string.format('%d', now), name) end
end

-- Adds the entry that wakes a worker, in the same step, if the caller has named the stream.
-- wake: as this script returns it. Returns what is left for the caller to do.
local function add_entry(wake)
    note_open()
    if wake == 0 or stream == '' then return wake end
    redis.call('XADD', stream, '*', 'v', '1', 't', 'name', 'p', id, 'n', name)
    return 0
end

-- The tokens of a name whose lone push begins in this step, as push-begin would begin it. Nil: push-begin has to look.
-- Otherwise also the length of the lease, and whether the push begins an interval.
local function tokens_to_hand()
    local interval, length, mostHigh = string.match(hand, '^(%d+) (%d+) (%d+)$')
    -- Without `before` the newest push is done, so it alone is kept beside this one.
    if not (isQuiet and length) or at ~= '' or before or mostHigh ~= '0' and priority == '10' then return nil end
    local isPaced = supersedable == '1' and interval ~= '0'
    if isPaced and pacing_left(paced, seq, deadline, interval, now) ~= 0 then return nil end
    local tokens = redis.call('HRANDFIELD', b, MOST_TOKENS + 1, 'WITHVALUES')
    if #tokens > 2 * MOST_TOKENS then return nil end
    -- `n` counts the buckets of a name that has more than one.
    for position = 1, #tokens, 2 do if tokens[position] == 'n' then return nil end end
    return tokens, length, isPaced
end

-- Begins the lone push, and hands it to the worker that reads its entry (shared-handed). Adds to the name's fields.
local function hand_over(fields, text, tokens, length, isPaced)
    local entry = redis.call('XADD', stream, '*', 'v', '1', 't', 'name', 'p', id, 'n', name,
        'l', length, 'm', text, unpack(tokens))
    local function set(field, value) fields[#fields + 1], fields[#fields + 2] = field, value end
    set('handed', string.format('%d', now + length) .. ' ' .. length .. ' ' .. entry .. ' ' .. stream .. ' '
        .. (begun or '-') .. ' ' .. (begunID or '-') .. ' ' .. (paced or '- -') .. ' ' .. name)
    set('begun', seq)
    set('begun_id', id)
    set('newest', seq .. ' update ' .. id .. ' ' .. stamp)
    if newest then set('before', newest) end
    if isPaced then set('paced', stamp .. ' ' .. seq) end
end

-- Writes a lone push and returns the answer.
local function commit_lone()
    local fields, nameLife = name_fields(stamp .. ' 0 ' .. priority)
    -- One concatenation costs a third of a format with as many parts.
    local text = id .. ' ' .. seq .. ' ' .. digits .. ' ' .. priority .. ' ' .. string.format('%d', deadline) .. ' '
        .. stamp .. ' ' .. retention .. ' ' .. (supersedable == '1' and string.format('%d', lives) or '-') .. ' '
        .. (expiry ~= '' and expiry or '-') .. ' ' .. (soft == '1' and '1' or '-') .. ' ' .. (last or '-') .. ' '
        .. (tells == '1' and '1' or '-') .. ' ' .. (traceparent ~= '' and traceparent or '-') .. '\n' .. by .. '\n' .. content
    fields[#fields + 1], fields[#fields + 2] = 'lone', text
    local tokens, length, isPaced
    if hand ~= '' then tokens, length, isPaced = tokens_to_hand() end
    local wake = 0
    if tokens then
        note_open()
        hand_over(fields, text, tokens, length, isPaced)
    else
        wake = add_entry(1)
    end
    redis.call('HSET', n, unpack(fields))
    if nameLife then redis.call('PEXPIRE', n, nameLife) end
    return {'ok', tonumber(seq), ts, wake, followed(tokens)}
end
