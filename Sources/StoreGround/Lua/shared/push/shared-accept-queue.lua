-- Part of push-accept: a push that is not lone.

-- Writes the push into the name's queue. wakes: the name's new `woken`. replaced: ids of the pushes that it supersedes,
-- which a cancel before it begins brings back. Nil: none, or only the name's last push
local function commit(wakes, replaced)
    local record = {'seq', seq, 'ts', digits, 'event', event, 'prio', priority, 'aud', audience,
        'until', string.format('%d', deadline), 'created', stamp, 'state', 'queued', 'payload', content}
    local function set(field, value) record[#record + 1], record[#record + 2] = field, value end
    if supersedable == '1' then set('sup', string.format('%d', lives)) end
    if expiry ~= '' then set('expiry', expiry) end
    if soft == '1' then set('soft', '1') end
    if stateless == '1' then set('bare', '1') end
    if reaches_silent(content) then set('silent', '1') end
    if replaced then set('replaced', table.concat(replaced, ' ')) end
    if traced == '1' then set('trace', '1') end
    if last then set('prev', last) end
    if tells == '1' then set('tell', '1') end
    if by ~= '' then set('by', by) end
    if traceparent ~= '' then set('tp', traceparent) end
    redis.call('HSET', p, unpack(record))
    redis.call('PEXPIRE', p, retention)
    redis.call('ZADD', q, seq, id)
    local fields, nameLife = name_fields(wakes)
    redis.call('HSET', n, unpack(fields))
    if nameLife then redis.call('PEXPIRE', n, nameLife) end
    if nameLife or waits == 0 then redis.call('PEXPIRE', q, string.format('%d', retention + NAME_SLACK)) end
end
