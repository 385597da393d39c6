-- Fragment for scripts that settle many tokens at once. Each redis.call costs about a microsecond, and the tokens of a
-- page count in the same fields. So counts are added up and written once, and a list goes to Redis in one command.

-- Numbers to add, by key and field.
local counts = {}

-- Adds a number to a field, and to a platform's part of it, such as `delivered@1`.
-- platform: its code. 0 has no part, because the first platform has the rest. Nil: it is not known
local function count(key, field, number, platform)
    counts[key] = counts[key] or {}
    counts[key][field] = (counts[key][field] or 0) + number
    if (platform or 0) > 0 then count(key, field .. '@' .. platform, number) end
end

local function write_counts()
    for key, fields in pairs(counts) do
        for field, number in pairs(fields) do redis.call('HINCRBY', key, field, number) end
    end
    counts = {}
end

-- Lua passes at most some 8,000 arguments. An even number keeps pairs together.
local MOST_ARGUMENTS = 4000

-- Calls a command with a list of any length. Returns the sum of its replies.
local function call_with_list(command, key, list)
    local sum = 0
    for from = 1, #list, MOST_ARGUMENTS do
        sum = sum + redis.call(command, key, unpack(list, from, math.min(from + MOST_ARGUMENTS - 1, #list)))
    end
    return sum
end

-- The values of fields, by field. False: the hash does not have it.
local function read_fields(key, fields)
    local values = {}
    for from = 1, #fields, MOST_ARGUMENTS do
        local part = redis.call('HMGET', key, unpack(fields, from, math.min(from + MOST_ARGUMENTS - 1, #fields)))
        for at, value in ipairs(part) do values[fields[from + at - 1]] = value end
    end
    return values
end
