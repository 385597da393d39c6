-- Fragment for scripts in which a push becomes final. What it superseded before it began comes back unless it stands
-- (shared-standing). p: the push's record, whose key names the others of its name.
-- uses supersede, standing, newest

-- How many withdrawn pushes in a row are looked through for what they superseded.
local MOST_WITHDRAWN = 16

-- A final push goes on and will be final once more, which another outgoing event tells.
local function tell_again(p, tell)
    if tell and tonumber(tell) < 0 then redis.call('HSET', p, 'tell', 1 - tell) end
end

-- Returns sequence number and id of the newest begun push that a card shows or may show. Nothing older goes out, so that
-- no card goes back. n: name meta; v: states by audience; ps: common prefix of the p keys
local function newest_shown(n, v, ps, now)
    local begun, id, started, newest, before =
        unpack(redis.call('HMGET', n, 'begun', 'begun_id', 'started', 'newest', 'before'))
    local last = tonumber(begun or 0)
    local shown, shownID, isKnown = tonumber(started or 0), '', false
    if shown == last then shownID = id or '' end
    for _, state in ipairs(read_states(v, newest, before, now)) do
        isKnown = isKnown or state.seq == last
        if state.seq > shown and standing(ps .. state.id) ~= 'no' then shown, shownID = state.seq, state.id end
    end
    -- The last begun push is an automatic end, or began so long ago that its state is not kept.
    if not isKnown and last > shown then return last, id or '' end
    return shown, shownID
end

-- Whether the only push that waits behind this one supersedes it: the cards get the newer state then.
local function has_newer(n, q, ps, id, seq)
    -- A lone push is an update for everyone, but perhaps not for silent phones.
    if redis.call('HEXISTS', n, 'lone') == 1 then return not supersede_fields_of(ps .. id).reachesSilent end
    local waiting = redis.call('ZRANGEBYSCORE', q, '(' .. seq, '+inf', 'LIMIT', 0, 2)
    if #waiting ~= 1 then return false end
    local newer, older = supersede_fields_of(ps .. waiting[1]), supersede_fields_of(ps .. id)
    local covers = newer.audience == '*' or newer.audience == older.audience
    return newer.event and covers and may_supersede(newer, older)
end

-- Queues the pushes again that the push superseded, or that a withdrawn push before it superseded. Returns whether it
-- did. now: ms. hasExpired: something of the push expired, so what is older has usually expired too
local function bring_back(p, now, hasExpired)
    local before, tag, first = string.match(p, '^([^{]*):p:({[^}]*}):(.*)$')
    local n, q, ps = before .. ':n:' .. tag, before .. ':q:' .. tag, before .. ':p:' .. tag .. ':'
    local shown = newest_shown(n, before .. ':v:' .. tag, ps, now)
    local found, left = false, MOST_WITHDRAWN
    local function look(by)
        left = left - 1
        -- A push that supersedes only the name's last push has it in `prev`.
        local replaced, prev = unpack(redis.pcall('HMGET', ps .. by, 'replaced', 'prev'))
        for old in string.gmatch((replaced or '') .. ' ' .. (prev or ''), '%S+') do
            local key = ps .. old
            local seq, state, newer, unwanted, resumed, tell, deadline = unpack(redis.pcall('HMGET', key,
                'seq', 'state', 'superseded_by', 'unwanted', 'resumed', 'tell', 'until'))
            local mayCome = state and tonumber(seq) > shown
            local isSuperseded = state == 'superseded' and newer == by
            local isWithdrawn = isSuperseded and unwanted or state ~= 'superseded' and mayCome and standing(key) == 'no'
            if mayCome and isWithdrawn then
                if left > 0 then look(old) end
            elseif mayCome and isSuperseded and not resumed and not (hasExpired and tonumber(deadline or 0) <= now)
                and not has_newer(n, q, ps, old, seq) then
                redis.call('HSET', key, 'state', 'queued', 'back', 1)
                redis.call('HDEL', key, 'superseded_by', 'expanded', 'finished')
                tell_again(key, tell)
                redis.call('ZADD', q, seq, old)
                redis.call('PEXPIRE', q, string.format('%d', math.max(redis.call('PTTL', n), 1)))
                found = true
            end
        end
    end
    look(first)
    return found
end
