-- Fragment for push-accept and kept records: whether a push also goes to silent phones. The push's own record notes that
-- in `silent`, because a payload may be long.

-- payload: as PushContent stores it: the fifth part behind it, each behind a zero byte, is `1` then
local function reaches_silent(payload)
    local at = string.find(payload, '\0', 1, true)
    return at and string.find(payload, '^%z[^%z]*%z[^%z]*%z[^%z]*%z[^%z]*%z1%z', at) and true
end
