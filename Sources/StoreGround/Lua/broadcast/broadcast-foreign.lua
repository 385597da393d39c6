-- Notes the app's broadcast channels at APNs that Lamplighter has not made. A worker calls this before it makes one. If
-- the worker dies while it makes one, that is the channel which is neither known nor noted here.
-- key bcl: the app's lease for broadcast channels, hash
-- key bcf: foreign broadcast channels, set
-- argument epoch: of the caller's lease
-- rest: broadcast channel ids
-- Returns 1, or 0 if another worker has the lease. Nothing was changed then.
if redis.call('HGET', bcl, 'e') ~= epoch then return 0 end
redis.call('UNLINK', bcf)
for index = rest, #ARGV do redis.call('SADD', bcf, ARGV[index]) end
return 1
