-- Fragment for scripts that read or change a field on all platforms. A platform's part of a field has the platform's code
-- behind it, such as `stopped@1`. The first platform has no part of a count, because it has the rest.

-- By code: the first one is of the code 0.
local PLATFORM_PARTS = {'@0', '@1', '@2', '@3'}

-- The names of a field's parts.
local function on_platforms(field)
    local names = {}
    for i, part in ipairs(PLATFORM_PARTS) do names[i] = field .. part end
    return unpack(names)
end
