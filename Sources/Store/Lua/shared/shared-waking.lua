-- Fragment for push-accept: whether the name needs another entry in a stream.

-- A waiting push has an entry, unless its gateway lost it. So the wake-up is repeated after WAKE_AGAIN, and each time
-- after twice as long, at most 128 times as long. The entry is also not enough if it has a lower priority, or if the
-- waiting pushes may be paced and this one may not.
-- Returns whether the caller must add an entry, and the name's new `woken`: when, how many in a row, and priority.
-- woken: the name's. waits: how many pushes wait. isSwept: a push is active. isPaced: the new push may be paced, or a
-- waiting one may not be
local function wake_up(woken, waits, isSwept, isPaced, priority, now)
    local at, wakes, before = string.match(woken or '', '^(%d+) (%d+) (%d+)$')
    wakes = tonumber(wakes or '0')
    local wake = waits == 0 or not at or now - at >= WAKE_AGAIN * 2 ^ wakes
        or not isSwept and (tonumber(priority) > tonumber(before) or not isPaced)
    if not wake then return false, woken end
    wakes = waits > 0 and at and math.min(wakes + 1, 7) or 0
    return true, string.format('%.0f %d %s', now, wakes, priority)
end
