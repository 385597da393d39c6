-- Put before scripts in which a newer push takes the place of an older one of its name (Lua.swift): which may do so, said once.

-- What decides about it, as HMGET of a push's record gives it. `bare`: it says nothing about the state.
local standing = {'sup', 'event', 'bare', 'until', 'expiry', 'created', 'aud'}

-- How long a push is tried, ms. One that is tried once lives no longer than its acceptance.
local function lives_until(push)
    local expiry, created = tonumber(push[5] or ''), tonumber(push[6] or '') or 0
    if expiry == 0 then return created end
    -- A record of before an upgrade has no deadline.
    return tonumber(push[4] or '') or expiry and expiry * 1000 or created + 28800000
end

-- Only an update without an alert is replaced, only by a push with a state of its own for the same tokens, and only by one that is
-- tried at least as long: so that what expires has never taken the place of what would have arrived.
local function takes_place(newer, older)
    return older[1] == '1' and newer[2] ~= 'start' and newer[3] ~= '1' and lives_until(newer) >= lives_until(older)
end
