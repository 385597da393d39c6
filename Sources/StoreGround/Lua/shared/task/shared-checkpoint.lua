-- Fragment for task-settle: a shard's checkpoint (all before it is settled), and pages settled ahead: `<from>-<to>,…`

local function pages_of(text)
    local pages = {}
    for from, to in string.gmatch(text or '', '(%d+)-(%d+)') do pages[#pages + 1] = {tonumber(from), tonumber(to)} end
    return pages
end

-- Whether an earlier call settled the page. Its answer was lost then.
local function is_settled(position, ahead, from, to)
    local repeated = from < to and to <= position
    for _, page in ipairs(pages_of(ahead)) do repeated = repeated or (page[1] <= from and to <= page[2]) end
    return repeated
end

-- Adds a page, and returns the new position and the pages ahead of it.
local function settle_page(position, ahead, from, to)
    local pages, rest = pages_of(ahead), {}
    pages[#pages + 1] = {from, to}
    table.sort(pages, function(x, y) return x[1] < y[1] end)
    for _, page in ipairs(pages) do
        local before = rest[#rest]
        if page[1] <= position then
            position = math.max(position, page[2])
        elseif before and page[1] <= before[2] then
            before[2] = math.max(before[2], page[2])
        else
            rest[#rest + 1] = page
        end
    end
    for index, page in ipairs(rest) do rest[index] = string.format('%.0f-%.0f', page[1], page[2]) end
    return position, table.concat(rest, ',')
end
