-- Looks at the clock, and finds out whether it was set back since the last look of any worker.
-- uses time
-- key clock: hash: `seen` (ms) latest time of a look; of the last step back `step` its number, `by` how far (ms), `at`
--   when by the clock behind it (ms)
-- arguments error, pause: ms; a smaller step is none, and `seen` is written again after the pause
-- argument margin: ms that `by` is more than what was seen, because the clock went on before it was set back
-- arguments known, number: the latest time that the caller has heard since it knows this number of a step, ms; or 0
-- argument notes: 1 = notes the time; 0 = only learns which step others have found
-- argument memory: ms for which a step counts. Steps that come sooner after each other add up
-- Returns {time (ms), number of the last step back, how far (ms), its number, also if it does not count}; 0 if there is none.
-- Atomic, so one look finds a step, and all others learn its number.
local now = redis_now()
local seen, step, by, at = unpack(redis.call('HMGET', clock, 'seen', 'step', 'by', 'at'))
-- What the caller has heard before a step that others have found is from another clock.
local latest = tonumber(number) == (tonumber(step or '') or 0) and tonumber(known) or 0
local back = math.max(tonumber(seen or '') or now, latest) - now
local counts = at and (tonumber(at) > now or now - at < tonumber(memory))
if notes == '0' then
    -- Nothing is written.
elseif back > tonumber(error) then
    step = string.format('%d', (tonumber(step or '') or 0) + 1)
    by = string.format('%.0f', back + margin + (counts and by or 0))
    redis.call('HSET', clock, 'seen', string.format('%.0f', now), 'step', step, 'by', by,
        'at', string.format('%.0f', now))
    counts = true
elseif not seen or -back >= tonumber(pause) then
    redis.call('HSET', clock, 'seen', string.format('%.0f', now))
end
return {now, counts and tonumber(step) or 0, counts and tonumber(by) or 0, tonumber(step or '') or 0}
