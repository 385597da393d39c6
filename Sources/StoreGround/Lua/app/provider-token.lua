-- Gives the token that the workers of a signing key share. Stores the caller's new one only if one is due.
-- key jwt: hash
-- argument candidate: the caller's new token; '' = it may not make one
-- argument issued: when the new token was signed, seconds since 1970
-- argument now: Redis's time as the caller measured it, seconds since 1970
-- argument refused: the token that the platform refused; '' = none
-- argument replacedAfter: age (s) from which a token is replaced
-- argument leastAfterRefusal: seconds for which a token stays that replaced a refused one
-- argument tolerance: most seconds that a token may be signed ahead
-- argument life: of the stored token, ms
-- Returns {token, when it was signed}, or false if there is none that the caller may use.
-- A token that was signed ahead is from before the clock was set back. It is replaced, whatever it replaced itself.
local token, issuedAt, replacesRefused = unpack(redis.call('HMGET', jwt, 't', 'i', 'r'))
if token then
    local age = now - tonumber(issuedAt)
    local isAhead = -age > tonumber(tolerance)
    local isYoung = age < tonumber(replacedAfter) and not isAhead
    if token ~= refused and isYoung then return {token, issuedAt} end
    -- A clock is wrong if the replacement is refused too. APNs punishes tokens that are made at the rate of refusals.
    local isNew = age < tonumber(leastAfterRefusal) and not isAhead
    if token == refused and replacesRefused == '1' and isNew then return false end
end
if candidate == '' then return false end
redis.call('HSET', jwt, 't', candidate, 'i', issued, 'r', refused ~= '' and '1' or '0')
redis.call('PEXPIRE', jwt, life)
return {candidate, issued}
