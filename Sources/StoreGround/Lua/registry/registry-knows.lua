-- Whether a name has a record of a channel. Questions about a channel ask each large name.
-- key b: root of the name, hash
-- key bucket: the channel's bucket under the caller's count; may be the root
-- keys h, x, e, f, a, z: retry queues, quarantine, other environment, late joiners, started channels, open requests,
--   hashes
-- keys y, k: new followers, catch-up, zsets
-- argument knownCount: the count that the bucket was computed from, as in registry-set
-- argument channel: channel, stored form
-- argument orMark: 1: the other keys count too
-- Returns 1: it has, be it a tombstone. 0: it has none. {right count}: the caller's count is outdated.
-- Writes nothing.
local count = redis.call('HGET', b, 'n') or '1'
if count ~= knownCount then return {count} end
if redis.call('HEXISTS', bucket, channel) == 1 then return 1 end
if orMark ~= '1' then return 0 end
for _, hash in ipairs({h, x, e, f, a, z}) do if redis.call('HEXISTS', hash, channel) == 1 then return 1 end end
for _, set in ipairs({y, k}) do if redis.call('ZSCORE', set, channel) then return 1 end end
return 0
