-- One provider token for all workers of a key: gives the one to use, and takes the caller's only when another is due.
-- KEYS  1 jwt
-- ARGV  1 the caller's new token, '' = it may not make one  2 seconds since 1970 at the caller: the new token's iat
--       3 the token that APNs called expired, '' = none  4 age (s) from which a token is replaced
--       5 seconds that a token stays which took a refused one's place  6 seconds that an iat may lie ahead  7 life (ms)
-- Returns {token, iat}, or false when there is none that the caller may use.
-- Ages are measured from the caller's clock to the iat of whoever stored the token: Redis's clock has no part in it.
local stored = redis.call('HMGET', KEYS[1], 't', 'i', 'r')
local token, now, refused = stored[1], tonumber(ARGV[2]), ARGV[3]
if token then
    local age = now - tonumber(stored[2])
    if token ~= refused and age < tonumber(ARGV[4]) and age >= -tonumber(ARGV[6]) then return {token, stored[2]} end
    -- Refused again soon: a clock is wrong, and renewing at the rate of the answers would be punished.
    if token == refused and stored[3] == '1' and age < tonumber(ARGV[5]) then return false end
end
if ARGV[1] == '' then return false end
redis.call('HSET', KEYS[1], 't', ARGV[1], 'i', ARGV[2], 'r', refused ~= '' and '1' or '0')
redis.call('PEXPIRE', KEYS[1], ARGV[7])
return {ARGV[1], ARGV[2]}
