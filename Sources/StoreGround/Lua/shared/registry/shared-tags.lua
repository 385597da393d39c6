-- Fragment for channel-mark: the record of a channel and its tags. Fields of the record: `t:GROUP:TAG` and `u:USER`
-- The record is read once and written in a few parts. If it is huge, only the fields of the call are read.
-- uses tally

local function sign(state) return string.sub(state or '', 1, 1) end

local function prefix_of(field) return string.match(field, '^t:[^:]*:') or string.match(field, '^u:') or '' end

-- The record by field, its fields in the order of reading, and the fields that changed.
local channelRecord, channelFields, channelChanges = {}, {}, {}
-- The record's fields by their prefix `t:GROUP:` or `u:`, for 'set'. Nil until the first 'set'.
local byPrefix
-- Key of a huge record, else nil. The time after which a sign that replaces the opposite one may go.
local hugeKey, signTime

local function file(field)
    local prefix = prefix_of(field)
    byPrefix[prefix] = byPrefix[prefix] or {}
    table.insert(byPrefix[prefix], field)
end
local function take(field, state)
    if channelRecord[field] == nil then
        channelFields[#channelFields + 1] = field
        if byPrefix then file(field) end
    end
    channelRecord[field] = state
end
local function read_record(c, isHuge, crossing)
    signTime = crossing
    if isHuge then hugeKey = c end
    local stored = isHuge and {} or redis.call('HGETALL', c)
    for j = 1, #stored, 2 do take(stored[j], stored[j + 1]) end
end
local function fields_with(prefix)
    if not byPrefix then
        byPrefix = {}
        for _, field in ipairs(channelFields) do file(field) end
    end
    return byPrefix[prefix] or {}
end
local function state_of(field)
    if hugeKey and channelRecord[field] == nil then take(field, redis.call('HGET', hugeKey, field) or '') end
    return sign(channelRecord[field])
end
local function put(field, state)
    take(field, state)
    channelChanges[#channelChanges + 1] = field
end
local function join(field)
    local state = state_of(field)
    if state == '-' then put(field, '+' .. signTime) elseif state == '' then put(field, '+') end
end
local function leave(field)
    local state = state_of(field)
    if state == '+' then put(field, '-' .. signTime) elseif state == '1' then put(field, '-') end
end
-- Returns whether the record has changed.
local function write_changes(c)
    local values = {}
    for _, field in ipairs(channelChanges) do
        values[#values + 1] = field
        values[#values + 1] = channelRecord[field]
    end
    call_with_list('HSET', c, values)
    return #channelChanges > 0
end

-- Whether the channel would have more tags than before and than it may. A huge record, not read, can only lose tags.
local function has_too_many(isHuge, operations, first, most)
    local has, before, after = {}, 0, 0
    local function count(field, there)
        -- Groups that begin with \1 are Lamplighter's own.
        if not string.find(field, '^t:[^\1]') then return end
        local group = prefix_of(field)
        has[group] = has[group] or {}
        if (has[group][field] or false) == there then return end
        has[group][field] = there
        after = after + (there and 1 or -1)
    end
    for _, field in ipairs(channelFields) do
        if sign(channelRecord[field]) ~= '-' then count(field, true) end
    end
    before = after
    local j = first
    while j <= #operations do
        local operation, field = operations[j], operations[j + 1]
        j = j + 2
        if operation == 'add' or operation == 'remove' then
            if isHuge and operation == 'add' then return true end
            count(field, operation == 'add')
        elseif operation == 'set' then
            if isHuge then return true end
            for held in pairs(has[field] or {}) do count(held, false) end
            for k = j + 1, j + tonumber(operations[j]) do count(operations[k], true) end
            j = j + 1 + tonumber(operations[j])
        end
    end
    return after > before and after > most
end
