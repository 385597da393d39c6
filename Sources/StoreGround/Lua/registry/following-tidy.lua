-- Drops the expired entries of a bucket of the index from channels to places.
-- uses tally
-- key fo: the bucket, hash: channel and place, until when it may be true in minutes, three bytes
-- argument now: the same form
-- Returns how many were dropped. Atomic, so an entry that is renewed meanwhile stays.
local function number(text)
    local a, b, c = string.byte(text, 1, 3)
    return c and (a * 256 + b) * 256 + c or 0
end
local all, over, time = redis.call('HGETALL', fo), {}, number(now)
for i = 1, #all, 2 do if number(all[i + 1]) < time then over[#over + 1] = all[i] end end
call_with_list('HDEL', fo, over)
return #over
