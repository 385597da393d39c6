-- Fragment for scripts that change a name's buckets.

-- Renews a bucket's life (ms). The root holds the count, so it lives at least as long, and longer if another bucket
-- holds an activity that starts in days. Five minutes of slack save a busy bucket most renewals.
local function renew(root, bucket, life)
    life = tonumber(life)
    if redis.call('PTTL', bucket) < life - 300000 then
        redis.call('PEXPIRE', bucket, string.format('%.0f', life))
        if redis.call('PTTL', root) < life then redis.call('PEXPIRE', root, string.format('%.0f', life)) end
    end
end
