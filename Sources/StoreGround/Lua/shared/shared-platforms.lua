-- Fragment for scripts that read or change a field on all platforms. A platform's part of a field has the platform's code
-- behind it, such as `stopped@1`. The first platform, of the code 0, has no part of a count, because it has the rest.

-- The names of a field's parts. Of the empty field: the endings of these names.
local function on_platforms(field) return field .. '@0', field .. '@1', field .. '@2', field .. '@3' end
