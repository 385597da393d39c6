-- Adds to an app's answers of the last minutes and says what they come to.
-- KEYS[1] g (hash: minute since 1970 ‖ ':a' answers, ':d' dead by a 400, ':g' dead by a 410)
-- ARGV[1] minutes that count, this one included; then for each minute: its age in minutes, answers, dead, gone
-- Returns {answers, dead, gone} of the minutes that count.
-- Called again after a lost answer it counts twice: the guard is then wary a little earlier.
local time = redis.call('TIME')
local now = math.floor(time[1] / 60)
local window = tonumber(ARGV[1])
for i = 2, #ARGV, 4 do
    local minute = string.format('%.0f', now - ARGV[i])
    for j, kind in ipairs({':a', ':d', ':g'}) do
        if ARGV[i + j] ~= '0' then redis.call('HINCRBY', KEYS[1], minute .. kind, ARGV[i + j]) end
    end
end
local sums = {a = 0, d = 0, g = 0}
local counts = redis.call('HGETALL', KEYS[1])
for i = 1, #counts, 2 do
    local minute, kind = string.match(counts[i], '^(%d+):([adg])$')
    if not minute or tonumber(minute) <= now - window then
        redis.call('HDEL', KEYS[1], counts[i])
    else
        sums[kind] = sums[kind] + (tonumber(counts[i + 1]) or 0)
    end
end
redis.call('PEXPIRE', KEYS[1], (window + 1) * 60000)
return {sums.a, sums.d, sums.g}
