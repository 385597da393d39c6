-- Fragment for scripts that need the time. The clocks of gateways and workers may differ by minutes, so the time is
-- Redis's own, epoch ms.
local function redis_now()
    local time = redis.call('TIME')
    return time[1] * 1000 + math.floor(time[2] / 1000)
end
