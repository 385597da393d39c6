-- Fragment for push-begin: the newest states of a name, by audience. v: hash, `*` for everyone or the SHA-1 of another
-- audience → `<sequence> <event> <push id>`
-- v holds the states that late joiners get. A push for everyone replaces all of them, another one only that of its
-- audience. An `end` for an audience has a field of its own (`!` and the SHA-1) until an `end` for everyone, because a
-- card that was started before it may register its token later. Besides `*`, the 16 newest are kept.
local mostStates = 16

local function is_end_for_some(field) return string.sub(field, 1, 1) == '!' end

-- Keeps the state of a push that begins. n: name meta. newest: its field, which v's states replace
local function keep_state(v, n, newest, push, id, now)
    local isForAll, isEnd = push.aud == '*', push.event == 'end'
    local field = isForAll and '*' or (isEnd and '!' or '') .. redis.sha1hex(push.aud)
    local states = redis.call('HGETALL', v)
    local oldest, least, count = nil, math.huge, 0
    for i = 1, #states, 2 do
        if isForAll and (isEnd or not is_end_for_some(states[i])) then
            redis.call('HDEL', v, states[i])
        elseif states[i] ~= '*' and states[i] ~= field then
            local seq = tonumber(string.match(states[i + 1], '^%d+'))
            count = count + 1
            if seq < least then oldest, least = states[i], seq end
        end
    end
    local state = string.format('%s %s %s', push.seq, push.event, id)
    if isForAll and not isEnd and count == 0 then
        redis.call('HSET', n, 'newest', string.format('%s %.0f', state, now))
        return
    end
    if newest then redis.call('HDEL', n, 'newest') end
    local forAll = not isForAll and #states == 0 and newest_state(newest, now)
    if forAll then redis.call('HSET', v, '*', forAll) end
    if not isForAll and count >= mostStates then redis.call('HDEL', v, oldest) end
    redis.call('HSET', v, field, state)
    redis.call('PEXPIRE', v, LATE_LIFE)
end

-- Returns push id and payload of the state that an automatic end shows: that of the last update for everyone. Nil if a
-- start or an update for another audience began since: some cards differ then. n: name meta. prefix: of the p keys
local function shown_state(v, n, newest, prefix, now)
    local states = redis.call('HGETALL', v)
    local forAll = #states == 0 and newest_state(newest, now) or ''
    for i = 1, #states, 2 do
        if states[i] == '*' then
            forAll = states[i + 1]
        elseif not is_end_for_some(states[i]) then
            return nil
        end
    end
    local seq, event, id = string.match(forAll, '^(%d+) (%a+) (.+)$')
    if event ~= 'update' or tonumber(redis.call('HGET', n, 'started') or 0) >= tonumber(seq) then return nil end
    local values = redis.pcall('HMGET', prefix .. id, 'payload', 'state')
    if values.err then return nil end
    local payload, state = unpack(values)
    if not state then
        local isRead, kept = pcall(kept_push, prefix .. id)
        if isRead and kept then payload, state = kept.payload, kept.state end
    end
    if payload and (state == 'sending' or state == 'done') then return id, payload end
end

-- Notes the state of a push that begins, or fixes that of an automatic end. set: sets fields of the push's record
local function begin_state(v, n, newest, prefix, push, id, set, now)
    if push.cutoff then
        local shown, payload = shown_state(v, n, newest, prefix, now)
        if shown then set('shows', shown, 'shown', payload) end
    elseif push.event == 'start' then
        redis.call('HSET', n, 'started', push.seq)
    else
        keep_state(v, n, newest, push, id, now)
    end
end
