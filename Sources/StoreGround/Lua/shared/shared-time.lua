-- Fragment for scripts that need the time: Redis's own (epoch ms), because other clocks may differ by minutes.
local function redis_now()
    local time = redis.call('TIME')
    return time[1] * 1000 + math.floor(time[2] / 1000)
end
