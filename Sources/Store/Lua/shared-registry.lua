-- Put before scripts that change a name's buckets (Lua.swift).

-- Five bytes as a number. (Comparing them as strings would follow the server's locale.)
local function time(value, at)
    local a, b, c, d, e = string.byte(value, at, at + 4)
    return (((a * 256 + b) * 256 + c) * 256 + d) * 256 + e
end

-- Both are renewed together, so the root, which holds the count, never expires before a bucket. Five minutes of slack
-- save the renewal of a busy bucket most of the time.
local function renew(root, bucket, life)
    if redis.call('PTTL', bucket) < tonumber(life) - 300000 then
        redis.call('PEXPIRE', bucket, life)
        redis.call('PEXPIRE', root, life)
    end
end

