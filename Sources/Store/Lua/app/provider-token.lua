-- Gives the provider token that all workers of a signing key share. Stores the caller's new one only if another one is
-- due.
-- KEYS[1] jwt: hash
-- ARGV[1] the caller's new token; '' = it may not make one
-- ARGV[2] seconds since 1970 at the caller, the new token's iat
-- ARGV[3] the token that APNs called expired; '' = none
-- ARGV[4] age (s) from which a token is replaced
-- ARGV[5] seconds for which a token stays that replaced a refused one
-- ARGV[6] most seconds that an iat may lie ahead
-- ARGV[7] life, ms
-- Returns {token, iat}, or false if there is none that the caller may use.
-- Atomic. An age is the caller's clock minus the iat from the worker that stored the token. Redis's clock has no part
-- in it.
local stored = redis.call('HMGET', KEYS[1], 't', 'i', 'r')
local token, now, refused = stored[1], tonumber(ARGV[2]), ARGV[3]
if token then
    local age = now - tonumber(stored[2])
    if token ~= refused and age < tonumber(ARGV[4]) and age >= -tonumber(ARGV[6]) then return {token, stored[2]} end
    -- A token that replaced a refused one is refused too, so a clock is wrong. The workers must not make tokens at the
    -- rate of the refusals, because APNs punishes that.
    if token == refused and stored[3] == '1' and age < tonumber(ARGV[5]) then return false end
end
if ARGV[1] == '' then return false end
redis.call('HSET', KEYS[1], 't', ARGV[1], 'i', ARGV[2], 'r', refused ~= '' and '1' or '0')
redis.call('PEXPIRE', KEYS[1], ARGV[7])
return {ARGV[1], ARGV[2]}
