-- Takes requests out of a bucket that fills with time. Gateways share the bucket, and each takes some at once.
-- uses time, since
-- key rate: string, the time at which the bucket is full again (ms, with a fraction)
-- argument interval: ms that one request takes, with a fraction
-- argument room: ms of requests that may come at once
-- argument wanted: requests
-- Returns how many were taken, and the ms until there is one if none was. A repeated call takes others: they expire.
local now = redis_now()
local full = math.max(now, tonumber(redis.call('GET', rate) or now))
-- An empty bucket is full after `room`. A millisecond more is the rounding of what is stored.
if since(full - room - 1, now) == math.huge then full = now end
local free = math.floor((tonumber(room) - (full - now)) / tonumber(interval))
local taken = math.min(tonumber(wanted), free)
if taken < 1 then return { 0, math.max(1, math.ceil(tonumber(interval) - (tonumber(room) - (full - now)))) } end
full = full + taken * tonumber(interval)
redis.call('SET', rate, string.format('%.3f', full), 'PX', string.format('%d', math.ceil(full - now) + 1000))
return { taken, 0 }
