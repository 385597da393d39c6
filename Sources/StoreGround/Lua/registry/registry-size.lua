-- Gives a name without tokens its number of buckets at once, so that an imported or restored name need not grow step by
-- step.
-- key b: root of the name, hash
-- argument newCount: number of buckets and fingerprint of the hash key
-- argument life: ms that the root lives from now
-- Returns 1, or 0: the name has tokens. Nothing was done.
-- A crash after it leaves a name of empty buckets, which grows and expires as any other.
if redis.call('EXISTS', b) == 1 then return 0 end
redis.call('HSET', b, 'n', newCount)
redis.call('PEXPIRE', b, life)
return 1
