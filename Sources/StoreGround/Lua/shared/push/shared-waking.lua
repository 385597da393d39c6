-- Fragment for push-accept: whether the name needs another entry in a stream.
-- uses constants, since

-- The name needs an entry if no push waits. If some wait they have an entry, but a gateway may have died before it
-- added that entry. So the wake-up is repeated after WAKE_AGAIN, then after twice as long each time, at most 128 times
-- as long. Unless a push is active, the name needs another entry in two more cases: its entry has a lower priority, or
-- this push is not paced, and the entry may be in a timer because all waiting pushes are paced.
-- Returns whether the caller must add an entry, and the name's new `woken`: when, how many in a row, and priority.
-- woken: the name's. waits: how many pushes wait. isSwept: a push is active. isPaced: false if this push is not paced
-- and all that wait may be
local function wake_up(woken, waits, isSwept, isPaced, priority, now)
    local at, wakes, before = string.match(woken or '', '^(%d+) (%d+) (%d+)$')
    wakes = tonumber(wakes or '0')
    local wake = waits == 0 or not at or since(tonumber(at), now) >= WAKE_AGAIN * 2 ^ wakes
        or not isSwept and (tonumber(priority) > tonumber(before) or not isPaced)
    if not wake then return false, woken end
    wakes = waits > 0 and at and math.min(wakes + 1, 7) or 0
    return true, string.format('%d %d %s', now, wakes, priority)
end
