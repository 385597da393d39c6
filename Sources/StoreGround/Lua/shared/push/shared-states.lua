-- Fragment for push-begin: the states that late joiners may get, newest first. v: hash, class → `<sequence> <event>
-- <push id>`. The class is `*` for everyone or the SHA-1 of another audience, with `!` before it for its `end`. A state
-- that was replaced has its sequence number behind the class, as in `* 12`.
-- A state stays until one that replaces it stands for good (shared-standing), because late joiners get the newest one
-- that stands. A state for everyone replaces all, another one those of its audience. An `end` for an audience stays until
-- an `end` for everyone, because a card that was started before it may register its token later.
-- uses standing, newest, kept
local MOST_STATES = 16

local function is_end_for_some(class) return string.sub(class, 1, 1) == '!' end
local function class_of(push)
    if push.aud == '*' then return '*' end
    return (push.event == 'end' and '!' or '') .. redis.sha1hex(push.aud)
end

-- The states that stay beside a new one of `class`, newest first. prefix: of the p keys
local function not_replaced(states, class, id, prefix)
    local stay, settled, all, some = {}, {}, class == '*' and 1 or 0, class == '*' and 0 or 1
    for _, state in ipairs(states) do
        local covered = settled[state.class] or settled['*'] == 'end'
            or settled['*'] and not is_end_for_some(state.class)
        -- The states of other audiences are judged when a push for them begins.
        local isJudged = state.class == '*' or state.class == class
        local how = not covered and isJudged and standing(prefix .. state.id)
        if not covered and how ~= 'no' and state.id ~= id then
            if how == 'yes' then settled[state.class] = state.event end
            local isForAll = state.class == '*'
            if isForAll then all = all + 1 else some = some + 1 end
            -- One for all that stands for good has room, because nothing older is looked at.
            if how == 'yes' or (isForAll and all or some) <= MOST_STATES then stay[#stay + 1] = state end
        end
    end
    return stay
end

-- Keeps the state of a push that begins. n: name meta
local function keep_state(v, n, newest, before, prefix, push, id, now)
    local class = class_of(push)
    local states, hasFields = read_states(v, newest, before, now)
    states = not_replaced(states, class, id, prefix)
    local text = string.format('%s %s %s', push.seq, push.event, id)
    table.insert(states, 1, {class = class, text = text, event = push.event, seq = push.seq})
    local isPlain, listed, fields, seen = true, {}, {}, {}
    for _, state in ipairs(states) do
        isPlain = isPlain and state.class == '*' and state.event == 'update'
        listed[#listed + 1] = string.format('%s %.0f', state.text, now)
        fields[#fields + 1] = seen[state.class] and state.class .. ' ' .. state.seq or state.class
        fields[#fields + 1], seen[state.class] = state.text, true
    end
    if hasFields then redis.call('UNLINK', v) end
    if isPlain then
        redis.call('HSET', n, 'newest', listed[1])
        if listed[2] then
            redis.call('HSET', n, 'before', table.concat(listed, ' ', 2))
        elseif before then
            redis.call('HDEL', n, 'before')
        end
    else
        if newest then redis.call('HDEL', n, 'newest', 'before') end
        redis.call('HSET', v, unpack(fields))
        redis.call('PEXPIRE', v, LATE_LIFE)
    end
end

-- Returns push id and payload of the state that an automatic end shows: that of the last update for everyone. Nil if a
-- start or an update for another audience began since: some cards differ then. n: name meta. prefix: of the p keys
local function shown_state(v, n, newest, before, prefix, now)
    for _, state in ipairs(read_states(v, newest, before, now)) do
        local p = prefix .. state.id
        if not is_end_for_some(state.class) and standing(p) ~= 'no' then
            local isShown = state.class == '*' and state.event == 'update'
            if not isShown or tonumber(redis.call('HGET', n, 'started') or 0) >= state.seq then return nil end
            local payload = redis.pcall('HGET', p, 'payload')
            if type(payload) == 'string' then return state.id, payload end
            local isRead, kept = pcall(kept_push, p)
            if isRead and kept then return state.id, kept.payload end
            return nil
        end
    end
end

-- Notes the state of a push that begins, or fixes that of an automatic end. set: sets fields of the push's record
local function begin_state(v, n, newest, before, prefix, push, id, set, now)
    if push.cutoff then
        local shown, payload = shown_state(v, n, newest, before, prefix, now)
        if shown then set('shows', shown, 'shown', payload) end
    elseif push.event == 'start' then
        redis.call('HSET', n, 'started', push.seq)
    else
        keep_state(v, n, newest, before, prefix, push, id, now)
    end
end
