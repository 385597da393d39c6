-- Gives a worker its turn to send tokens, so that all workers together keep to an app's rate and to that of a push.
-- uses time, since
-- keys appTurn, pushTurn: when the next tokens may go, µs since 1970, a point, and how far ahead that was when it was
--   stored, µs; absent = now
-- key reserveTurn: the same of the turns that only pages have that waited long: a quarter of the app's rate
-- argument tokens: how many the caller sends in its turn
-- arguments ofApp, ofPush: tokens a second; 0 = no limit
-- argument horizon: ms; the caller gets no turn that is later than this
-- argument reserve: ms; the caller has waited long, and may have a reserved turn that is not later than this. 0: it has not
-- Returns {1, ms until the turn}, or {0, the same}: the caller has no turn and asks again.
-- A worker that dies in its turn leaves a pause as long as the turn. A repeated call takes a second turn.
local now = math.floor(redis_now() * 1000)
local function turn(key, rate)
    local next, length = string.match(rate > 0 and redis.call('GET', key) or '', '^(%d+)%.(%d+)$')
    return next and since(next - length, now) < math.huge and math.max(now, tonumber(next)) or now
end
local function take(key, rate, from)
    if rate == 0 then return end
    local next = from + math.ceil(tokens * 1000000 / rate)
    redis.call('SET', key, string.format('%.0f.%.0f', next, next - now), 'PX',
        string.format('%.0f', (next - now) / 1000 + 1000))
end
ofApp, ofPush = tonumber(ofApp), tonumber(ofPush)
local forApp, forPush = turn(appTurn, ofApp), turn(pushTurn, ofPush)
local wait = math.ceil((math.max(forApp, forPush) - now) / 1000)
if wait > tonumber(horizon) then
    local reserved = turn(reserveTurn, ofApp)
    if wait > tonumber(reserve) or reserved > now then return {0, wait} end
    take(reserveTurn, ofApp / 4, now)
end
take(appTurn, ofApp, forApp)
take(pushTurn, ofPush, forPush)
return {1, wait}
