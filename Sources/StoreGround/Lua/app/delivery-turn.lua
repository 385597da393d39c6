-- Gives a worker its turn to send tokens, so that all workers together keep to an app's rate and to that of a push.
-- uses time, since
-- keys appTurn, pushTurn: when the next tokens may go, µs since 1970, a point, and how far ahead that was when it was
--   stored, µs; for a rate that rises also a point, and when it began to, µs; `h` behind it: held; absent = now
-- key reserveTurn: the same of the turns that only pages have that waited long: a quarter of the app's present rate
-- argument tokens: how many the caller wants to send
-- arguments ofApp, ofPush: tokens a second; 0 = no limit
-- argument rise: ms in which the app's rate rises from a sixtieth to the whole after a rest; 0: it is always the whole
-- argument quiet: ms without tokens after which the rate rises again
-- argument slice: a turn may be for fewer tokens than the caller wants: for those of a tenth of a second at the app's
--   present rate, but at least for so many. 0: a turn is for all of them
-- argument horizon: ms; the caller gets no turn that is later than this
-- argument reserve: ms; the caller has waited long, and may have a reserved turn that is not later than this. 0: it has not
-- argument hold: ms for which nobody gets a turn, from now on. 0: the caller wants a turn
-- Returns {tokens of the turn, ms until the turn}, or {0, the same}: the caller has no turn and asks again, or
--   {-1, the same}: turns are held until then.
-- A worker that dies in its turn leaves a pause as long as the turn. A repeated call takes a second turn.
local now = math.floor(redis_now() * 1000)
ofApp, ofPush, rise, quiet = tonumber(ofApp), tonumber(ofPush), tonumber(rise) * 1000, tonumber(quiet) * 1000
tokens, slice = tonumber(tokens), tonumber(slice)
local function turn(key, rate)
    local next, length, began, held =
        string.match(rate > 0 and redis.call('GET', key) or '', '^(%d+)%.(%d+)%.?(%d*)(h?)$')
    local isKnown = next and since(next - length, now) < math.huge
    if not isKnown or rise > 0 and now - next >= quiet then return now, now end
    return math.max(now, tonumber(next)), tonumber(began) or now, held == 'h'
end
local function take(key, rate, from, began, mark)
    if rate == 0 then return end
    local next = from + math.ceil(tokens * 1000000 / rate)
    local stored = string.format('%.0f.%.0f', next, next - now)
    local kept = (next - now) / 1000 + 1000
    if began then stored, kept = stored .. string.format('.%.0f', began), kept + quiet / 1000 end
    redis.call('SET', key, stored .. (mark or ''), 'PX', string.format('%.0f', kept))
end
local forApp, began, isHeld = turn(appTurn, ofApp)
local forPush = turn(pushTurn, ofPush)
local wait = math.ceil((math.max(forApp, forPush) - now) / 1000)
if hold ~= '0' then
    tokens, wait = 0, math.max(wait, tonumber(hold))
    -- The rate does not rise while tokens are held, and a hold as long as a rest is one. A second hold begins where
    -- the first one ends.
    local over = now + wait * 1000
    began = over - forApp >= quiet and over or began + over - forApp
    take(appTurn, ofApp, over, rise > 0 and began, 'h')
    return {-1, wait}
end
if rise > 0 then ofApp = ofApp * math.min(1, math.max(1 / 60, (forApp - began) / rise)) end
if slice > 0 then tokens = math.min(tokens, math.max(slice, math.floor(ofApp / 10))) end
if wait > tonumber(horizon) then
    if isHeld then return {-1, wait} end
    local reserved = turn(reserveTurn, ofApp)
    if wait > tonumber(reserve) or reserved > now then return {0, wait} end
    take(reserveTurn, ofApp / 4, now)
end
take(appTurn, ofApp, forApp, rise > 0 and began)
take(pushTurn, ofPush, forPush)
return {tokens, wait}
