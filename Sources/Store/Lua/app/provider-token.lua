-- Gives the provider token that a signing key's workers share. Stores the caller's new one only if one is due.
-- key jwt: hash
-- argument candidate: the caller's new token; '' = it may not make one
-- argument now: seconds since 1970 at the caller, the new token's iat
-- argument refused: the token that APNs called expired; '' = none
-- argument replacedAfter: age (s) from which a token is replaced
-- argument leastAfterRefusal: seconds for which a token stays that replaced a refused one
-- argument tolerance: most seconds that an iat may lie ahead
-- argument life: of the stored token, ms
-- Returns {token, iat}, or false if there is none that the caller may use.
-- An age is the caller's clock minus the iat of the worker that stored the token, without Redis's clock.
local token, issuedAt, replacesRefused = unpack(redis.call('HMGET', jwt, 't', 'i', 'r'))
if token then
    local age = now - tonumber(issuedAt)
    local isYoung = age < tonumber(replacedAfter) and age >= -tonumber(tolerance)
    if token ~= refused and isYoung then return {token, issuedAt} end
    -- A clock is wrong if the replacement is refused too. APNs punishes tokens that are made at the rate of refusals.
    if token == refused and replacesRefused == '1' and age < tonumber(leastAfterRefusal) then return false end
end
if candidate == '' then return false end
redis.call('HSET', jwt, 't', candidate, 'i', now, 'r', refused ~= '' and '1' or '0')
redis.call('PEXPIRE', jwt, life)
return {candidate, now}
