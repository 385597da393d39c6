-- Notes which of the app's channels at APNs nobody here has made, before one is made here: what appears besides after a
-- death is ours.
-- KEYS  1 bcl  2 bcf (set)
-- ARGV  1 epoch  2… channel ids
-- Returns 1, or 0 when the lease is another's: nothing is changed.
if redis.call('HGET', KEYS[1], 'e') ~= ARGV[1] then return 0 end
redis.call('UNLINK', KEYS[2])
for index = 2, #ARGV do redis.call('SADD', KEYS[2], ARGV[index]) end
return 1
