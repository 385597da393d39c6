-- Fragment for channel-mark: the tags of a channel. Fields of its record: `t:GROUP:TAG` and `u:USER`

local function sign(state) return string.sub(state or '', 1, 1) end

local function prefix_of(field) return string.match(field, '^t:[^:]*:') or string.match(field, '^u:') or '' end

-- Whether the channel would have more tags than before and more than it may. A huge record was not read, so it can only
-- lose tags.
-- fields, record: of the channel, as read. operations: of channel-mark, from `first` on
local function has_too_many(fields, record, isHuge, operations, first, most)
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
    for _, field in ipairs(fields) do
        if sign(record[field]) ~= '-' then count(field, true) end
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
