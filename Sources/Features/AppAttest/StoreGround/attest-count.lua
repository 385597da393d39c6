-- Takes the counter of an assertion, which must be larger than the last one. It renews the key's life.
-- key key: of App Attest, hash
-- argument counter: of the assertion
-- argument life: ms that the key is kept from now
-- Returns 1: taken. 0: the counter did not grow, or the key is gone.
-- A repetition is refused. The app then asks for another challenge, and its next assertion has a larger counter.
local last = redis.call('HGET', key, 'n')
if not last or tonumber(counter) <= tonumber(last) then return 0 end
redis.call('HSET', key, 'n', counter)
redis.call('PEXPIRE', key, life)
return 1
