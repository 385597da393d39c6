-- Fragment for push-accept: the order of push ids.

-- Compares ids by their bytes. A comparison of strings would follow the server's locale.
local function is_greater(one, other)
    local at = 1
    while at < #one and string.byte(one, at) == string.byte(other, at) do at = at + 1 end
    return (string.byte(one, at) or 0) > (string.byte(other, at) or 0)
end
