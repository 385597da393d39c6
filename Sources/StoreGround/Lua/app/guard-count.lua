-- Adds to an app's counts of token verdicts, and sums them over the last minutes and over the last so many verdicts.
-- uses time
-- key g: hash, minute since 1970 ‖ ':a' verdicts, ':d' dead by a 400, ':g' by a 410; older ones: 't' ‖ tens of minutes
-- argument window: minutes that count, this one included
-- argument kept: minutes for which older counts are kept
-- argument least: least verdicts for the second sum
-- rest: for each minute: its age in minutes, verdicts, dead by a 400, dead by a 410
-- Returns {verdicts, dead by a 400, dead by a 410} of the minutes that count, then the same three of the last
--   `least` verdicts or more.
-- Atomic. A call that is repeated after a lost answer counts twice. The prune guard stops a little earlier then.
local now = math.floor(redis_now() / 60000)
window, kept = tonumber(window), tonumber(kept)
local kinds = {':a', ':d', ':g'}
for i = rest, #ARGV, 4 do
    local minute = string.format('%.0f', now - ARGV[i])
    for j, kind in ipairs(kinds) do
        if ARGV[i + j] ~= '0' then redis.call('HINCRBY', g, minute .. kind, ARGV[i + j]) end
    end
end
local sums, tens, order = {[':a'] = 0, [':d'] = 0, [':g'] = 0}, {}, {}
local counts = redis.call('HGETALL', g)
for i = 1, #counts, 2 do
    local field, number = counts[i], tonumber(counts[i + 1]) or 0
    local older, at, kind = string.match(field, '^(t?)(%d+)(:[adg])$')
    at = tonumber(at)
    -- Verdicts that lie ahead were counted before the clock was set back. They count as those of now.
    local present = older == '' and now or math.floor(now / 10)
    if at and at > present then
        redis.call('HINCRBY', g, string.format('%s%.0f%s', older, present, kind), number)
        redis.call('HDEL', g, field)
        at = present
    end
    if at and older == '' and at > now - window then
        sums[kind] = sums[kind] + number
    else
        local ten = at and (older == 't' and at or math.floor(at / 10))
        if not ten or ten * 10 <= now - kept then
            redis.call('HDEL', g, field)
        else
            if older == '' then
                redis.call('HINCRBY', g, string.format('t%.0f%s', ten, kind), number)
                redis.call('HDEL', g, field)
            end
            if not tens[ten] then
                tens[ten] = {[':a'] = 0, [':d'] = 0, [':g'] = 0}
                order[#order + 1] = ten
            end
            tens[ten][kind] = tens[ten][kind] + number
        end
    end
end
redis.call('PEXPIRE', g, (math.max(window, kept) + 10) * 60000)
local answer = {sums[':a'], sums[':d'], sums[':g']}
table.sort(order, function(one, other) return one > other end)
for _, ten in ipairs(order) do
    if sums[':a'] >= tonumber(least) then break end
    for _, kind in ipairs(kinds) do sums[kind] = sums[kind] + tens[ten][kind] end
end
for _, kind in ipairs(kinds) do answer[#answer + 1] = sums[kind] end
return answer
