-- Fragment for scripts that read `newest` of a name's meta: `<sequence> update <push id> <ms when it began>`. While an
-- update for everyone is the name's only state for late joiners, it is there, and v (shared-states) does not exist.

-- Returns the state as v holds it. Nil: there is none, or it is too old.
local function newest_state(newest, now)
    local state, began = string.match(newest or '', '^(%d+ %a+ %S+) (%d+)$')
    return state and began + LATE_LIFE > now and state or nil
end
