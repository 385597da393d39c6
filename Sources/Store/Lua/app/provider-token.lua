-- Gives the provider token that all workers of a signing key share. Stores the caller's new one only if another one is
-- due.
-- key jwt: hash
-- argument candidate: the caller's new token; '' = it may not make one
-- argument now: seconds since 1970 at the caller, the new token's iat
-- argument refused: the token that APNs called expired; '' = none
-- argument replacedAfter: age (s) from which a token is replaced
-- argument leastAfterRefusal: seconds for which a token stays that replaced a refused one
-- argument tolerance: most seconds that an iat may lie ahead
-- argument life: of the stored token, ms
-- Returns {token, iat}, or false if there is none that the caller may use.
-- Atomic. An age is the caller's clock minus the iat from the worker that stored the token. Redis's clock has no part
-- in it.
local token, issuedAt, replacesRefused = unpack(redis.call('HMGET', jwt, 't', 'i', 'r'))
if token then
    local age = now - tonumber(issuedAt)
    local isYoung = age < tonumber(replacedAfter) and age >= -tonumber(tolerance)
    if token ~= refused and isYoung then return {token, issuedAt} end
    -- A token that replaced a refused one is refused too, so a clock is wrong. The workers must not make tokens at the
    -- rate of the refusals, because APNs punishes that.
    if token == refused and replacesRefused == '1' and age < tonumber(leastAfterRefusal) then return false end
end
if candidate == '' then return false end
redis.call('HSET', jwt, 't', candidate, 'i', now, 'r', refused ~= '' and '1' or '0')
redis.call('PEXPIRE', jwt, life)
return {candidate, now}
