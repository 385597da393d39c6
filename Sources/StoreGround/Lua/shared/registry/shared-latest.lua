-- Fragment for scripts in which a stored time refuses something older.
-- uses constants, time

-- The latest stored time that is believed, ms since 2020. A later one lies ahead: it was stored before the clock was set
-- back. now, latest: the caller's time, and the latest time by it. A command may be on its way for long. Meanwhile others
-- store times that do not lie ahead.
local function latest_believed(now, latest)
    local late = redis_now() - RECORD_EPOCH - now
    return latest + (late > CLOCK_ERROR and late or 0)
end
