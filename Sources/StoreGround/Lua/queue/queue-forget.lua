-- Removes a name that has no work left, unless its time was set since the caller looked at it.
-- key timer: open, or bc: names, zset by time (ms)
-- argument name: of the activity
-- argument score: its score when the caller looked at it
-- Returns 1 if it was removed, else 0.
if redis.call('ZSCORE', timer, name) ~= score then return 0 end
return redis.call('ZREM', timer, name)
