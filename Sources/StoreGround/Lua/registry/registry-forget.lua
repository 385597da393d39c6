-- Removes what a name has of a channel. Unlike registry-remove it leaves no tombstone, so an older registration that
-- arrives late counts again.
-- uses record, latest, handed
-- key b: root of the name, hash
-- keys bucket, n: the channel's bucket, the name's meta, hashes
-- keys x, e, f, a, z: quarantine, other environment, late joiners, started channels, open requests, hashes
-- keys y, k: new followers, catch-up, zsets
-- keys h, r: retry queues, hash; waiting channels, zset by due time (ms)
-- key g: channels being forgotten, hash: time of the request, or of the arrival of a registration after it (ms since
--   2020)
-- argument knownCount: the count that the bucket was computed from
-- argument channel: channel, stored form
-- argument before: ms since 2020; a later registration stays, with all that belongs to it, and a later tombstone
-- arguments now, latest: ms since 2020, by the caller's clock. A stored time after the latter lies ahead (shared-latest)
-- argument life: how long g is kept after the last request, ms
-- Returns 0: nothing is left that is older. 1: the channel was registered later.
--   2: pushes still wait for the channel. They are due now, and a worker skips them, because there is no token.
--   {right count}: the caller's count is outdated. Nothing was done.
local count = redis.call('HGET', b, 'n') or '1'
if count ~= knownCount then return {count} end
take_back(n, redis.call('HGET', n, 'handed'))

before = tonumber(before)
latest = latest_believed(now, latest)
local old = redis.call('HGET', bucket, channel)
local noted = tonumber(redis.call('HGET', g, channel) or 0)
-- The device's time is all that is known of a registration which no earlier look saw.
local isLater = old and (is_older(before, noted, latest) or is_older(before, action_time(old), latest))
if isLater and is_registration(old) then return 1 end
redis.call('HSET', g, channel, string.format('%.0f', math.max(before, noted)))
redis.call('PEXPIRE', g, life)
-- A later tombstone refuses registrations that are older than it, whatever was forgotten before.
if not isLater then redis.call('HDEL', bucket, channel) end
for _, hash in ipairs({x, e, f, a, z}) do redis.call('HDEL', hash, channel) end
for _, set in ipairs({y, k}) do redis.call('ZREM', set, channel) end
if redis.call('HEXISTS', h, channel) == 0 then return 0 end
redis.call('ZADD', r, 'XX', string.format('%.0f', RECORD_EPOCH + now), channel)
return 2
