-- Part of push-accept: the fields of the name, and the usual case, a lone push (shared-lone-words). It sees the script's
-- names, because to hand them over costs each publish more.

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
local function followed()
    local token = asks == '1' and redis.pcall('HRANDFIELD', b, 1, 'WITHVALUES')[2]
    return token and (string.byte(token) or 1) % 2 == 0 and 1 or 0
end

-- Writes a lone push and returns the answer.
local function commit_lone()
    local fields, nameLife = name_fields(stamp .. ' 0 ' .. priority)
    fields[#fields + 1] = 'lone'
    -- One concatenation costs a third of a format with as many parts.
    fields[#fields + 1] = id .. ' ' .. seq .. ' ' .. digits .. ' ' .. priority .. ' ' .. string.format('%d', deadline) .. ' '
        .. stamp .. ' ' .. retention .. ' ' .. (supersedable == '1' and string.format('%d', lives) or '-') .. ' '
        .. (expiry ~= '' and expiry or '-') .. ' ' .. (soft == '1' and '1' or '-') .. ' ' .. (last or '-') .. ' '
        .. (tells == '1' and '1' or '-') .. ' ' .. (traceparent ~= '' and traceparent or '-') .. '\n' .. by .. '\n' .. content
    redis.call('HSET', n, unpack(fields))
    if nameLife then redis.call('PEXPIRE', n, nameLife) end
    return {'ok', tonumber(seq), ts, 1, followed()}
end
