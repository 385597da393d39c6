-- Adds actions to an app's log, and removes those that are too old.
-- uses time
-- key log: stream
-- arguments keep, life: about how many actions the log keeps; how long, ms
-- rest: for each action: how many arguments follow, then its fields and values in turn
-- Returns how many were added.
-- A repeated call adds the actions again, with the same `op`.
local added, i = 0, rest
while i <= #ARGV do
    local count = tonumber(ARGV[i])
    redis.call('XADD', log, 'MAXLEN', '~', keep, '*', unpack(ARGV, i + 1, i + count))
    added, i = added + 1, i + count + 1
end
redis.call('XTRIM', log, 'MINID', '~', string.format('%d', math.max(0, redis_now() - life)))
redis.call('PEXPIRE', log, life)
return added
