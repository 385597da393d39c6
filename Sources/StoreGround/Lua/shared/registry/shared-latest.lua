-- Fragment for scripts in which a stored time refuses something older.
-- uses constants, time

-- The latest stored time that is believed, ms since 2020. A later one lies ahead: it was stored before the clock was set
-- back. now, latest: the caller's time, and the latest time by it. While a command is on its way, which may take long,
-- others store times that do not lie ahead. So Redis's time counts if it is later.
local function latest_believed(now, latest)
    return math.max(tonumber(latest), redis_now() - RECORD_EPOCH + latest - now)
end
