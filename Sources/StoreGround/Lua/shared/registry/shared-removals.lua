-- Fragment for scripts that compare registrations with removals. A removal is {id, at}: the hash of its activity's id, and
-- its time. A list of removals has the newest first, and each id once.
--
-- A device may report its cards in any order. The card with the newest registration stays, unless a later removal takes
-- it. So a value keeps the removals that may take a registration that is still to come: the newest two, each of another
-- activity. An older third one raises the tombstone's floor, which refuses what is older of any activity.
-- uses record

-- Whether two activity ids are known and differ.
local function differ(one, other) return one ~= other and one ~= NO_ID and other ~= NO_ID end

-- The removals in a record or tombstone that are later than the time `after`. latest: see is_older
local function removals_after(value, after, latest)
    local found = {}
    local function add(at, id)
        if is_older(after, at, latest) then found[#found + 1] = {id = id, at = at} end
    end
    local from, to = 11, removals_end(value)
    if has_flag(value, TOMBSTONE) then
        local isPruned = has_flag(value, PRUNED)
        if not isPruned then add(action_time(value), id_hash(value)) end
        from, to = isPruned and 19 or 16, #value
    end
    for start = from, to - REMOVAL_BYTES + 1, REMOVAL_BYTES do
        add(time_at(value, start + 3), string.sub(value, start, start + 2))
    end
    return found
end

-- Adds a removal to a list. Returns the newest two, and the time of a third one or 0.
local function with_removal(removals, id, at)
    local others, all = {}, {}
    for _, other in ipairs(removals) do
        if other.id == id then at = math.max(at, other.at) else others[#others + 1] = other end
    end
    local new = {id = id, at = at}
    for _, other in ipairs(others) do
        if new and at >= other.at then
            all[#all + 1] = new
            new = nil
        end
        all[#all + 1] = other
    end
    all[#all + 1] = new
    return {all[1], all[2]}, all[3] and all[3].at or 0
end

-- Whether one of these removals, which are later than a registration of the activity, takes it.
local function takes(removals, id)
    for _, removal in ipairs(removals) do
        if not differ(removal.id, id) then return true end
    end
    return false
end

local function removals_text(removals, first)
    local text = ''
    for i = first, #removals do text = text .. removals[i].id .. time_bytes(removals[i].at) end
    return text
end

-- A record with these removals of other activities.
local function with_removals(record, removals)
    local flags = bit.band(string.byte(record), bit.bnot(NOTED + TWICE))
        + (removals[1] and NOTED or 0) + (removals[2] and TWICE or 0)
    return string.char(flags) .. string.sub(record, 2, 10) .. removals_text(removals, 1)
        .. string.sub(record, removals_end(record) + 1)
end

-- A tombstone of these removals. floor: ms since 2020. wasPruned: a prune came before them
local function tombstone(removals, floor, wasPruned)
    return string.char(TOMBSTONE + (wasPruned and NOTED or 0)) .. time_bytes(removals[1].at) .. '\0' .. removals[1].id
        .. time_bytes(floor) .. removals_text(removals, 2)
end
