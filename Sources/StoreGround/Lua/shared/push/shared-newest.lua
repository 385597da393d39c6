-- Fragment for scripts that read `newest` and `before` of a name's meta. While updates for everyone are the name's only
-- states for late joiners, they are there, and v (shared-states) does not exist: in `newest` the newest one, in `before`
-- those that it replaced, newest first, until it is done. Of each: `<sequence> update <push id> <ms when it began>`.

-- Returns the state as v holds it. Nil: there is none, or it is too old.
local function newest_state(newest, now)
    local state, began = string.match(newest or '', '^(%d+ %a+ %S+) (%d+)$')
    return state and began + LATE_LIFE > now and state or nil
end
