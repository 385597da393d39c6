-- Fragment for scripts in which a stored time refuses something older.
-- uses constants, time

-- The latest stored time that is believed, ms since 2020. A later one lies ahead: it was stored before the clock was set
-- back. now: the caller's time. ahead: how far ahead of it other callers' times may lie, ms. While a command is on its
-- way, which may take long, others store times that do not lie ahead. So Redis's time counts if it is later.
local function latest_believed(now, ahead)
    return math.max(tonumber(now), redis_now() - RECORD_EPOCH) + tonumber(ahead)
end
