-- Writes the sums of an hour that is still open, in place of the ones before.
-- keys state, hour: how far the app's pushes are added up; the sums of the hour; hashes
-- argument number: of the hour, since 1970
-- argument life: ms that the sums are kept from now
-- argument most: fields and values of one command
-- rest: fields of the hour and their values, in turns
-- Returns 1, or 0 if the hour is closed: a caller that was slow must not open it again.
-- A second call writes the same. A death before it leaves an older draft, which the next look replaces.
if tonumber(number) < tonumber(redis.call('HGET', state, 'next') or 0) then return 0 end
-- The first command may be refused by a full Redis, and then nothing is written.
redis.call('HSET', hour, 'at', '0')
redis.call('UNLINK', hour)
most = tonumber(most)
for i = rest, #ARGV, most do redis.call('HSET', hour, unpack(ARGV, i, math.min(i + most - 1, #ARGV))) end
redis.call('PEXPIRE', hour, life)
return 1
