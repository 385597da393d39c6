-- Fragment for scripts that read `newest` and `before` of a name's meta. While updates for everyone are the name's only
-- states for late joiners, they are there, and v (shared-states) does not exist: in `newest` the newest one, in `before`
-- those that it replaced, newest first, until it is done. Of each: `<sequence> update <push id> <ms when it began>`.
-- uses constants

-- Returns the state as v holds it. Nil: there is none, or it is too old.
local function newest_state(newest, now)
    local state, began = string.match(newest or '', '^(%d+ %a+ %S+) (%d+)$')
    return state and began + LATE_LIFE > now and state or nil
end

-- The states of a name, newest first, and whether v has them. newest, before: of the name's meta
local function read_states(v, newest, before, now)
    local states = {}
    local function add(class, text)
        local seq, event, id = string.match(text, '^(%d+) (%a+) (%S+)')
        if seq then states[#states + 1] = {class = class, seq = tonumber(seq), event = event, id = id, text = text} end
    end
    local fields = redis.call('HGETALL', v)
    for i = 1, #fields, 2 do add(string.match(fields[i], '^%S+'), fields[i + 1]) end
    if #fields == 0 then
        for text, began in string.gmatch((newest or '') .. ' ' .. (before or ''), '(%d+ %a+ %S+) (%d+)') do
            if began + LATE_LIFE > now then add('*', text) end
        end
    end
    table.sort(states, function(x, y) return x.seq > y.seq end)
    return states, #fields > 0
end
