-- Notes the app's broadcast channels at APNs that Lamplighter has not made. A worker calls this before it makes one. If
-- the worker dies while it makes one, that is the channel which is neither known nor noted here.
-- KEYS[1] bcl: the app's lease for broadcast channels, hash
-- KEYS[2] bcf: foreign broadcast channels, set
-- ARGV[1] epoch
-- ARGV[2 ...] broadcast channel ids
-- Returns 1, or 0 if another worker has the lease. Nothing was changed then.
-- Atomic.
if redis.call('HGET', KEYS[1], 'e') ~= ARGV[1] then return 0 end
redis.call('UNLINK', KEYS[2])
for index = 2, #ARGV do redis.call('SADD', KEYS[2], ARGV[index]) end
return 1
