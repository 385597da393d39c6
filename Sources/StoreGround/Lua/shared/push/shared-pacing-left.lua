-- Fragment for push-begin and push-accept: for how long an update waits because of the least time between a name's updates.

-- Returns ms, 0 if the update begins, and an interval with it. Nil: the update is from before the interval. It does not
-- wait, so that an interval has one sweep for each audience, and begins no other one.
-- paced: when the last interval began (ms), and the name's last sequence number then. interval, deadline, now: ms
local function pacing_left(paced, seq, deadline, interval, now)
    local at, last = string.match(paced or '', '^(%d+) (%d+)$')
    if not at then return 0 end
    if tonumber(seq) <= tonumber(last) then return nil end
    -- A time that lies ahead was stored before the clock was set back. No wait may last until the clock gets there again.
    local left = tonumber(at) <= now and at + interval - now or 0
    -- Pacing must not delay an update past its deadline.
    local isTooLate = deadline > now and deadline <= now + left
    return isTooLate and 0 or math.max(left, 0)
end
