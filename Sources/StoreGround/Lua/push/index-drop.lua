-- Takes pushes that are gone out of the blocks of an app's index (index-pack).
-- keys blocks, number: as in index-pack
-- rest: ids of the pushes, 16 bytes each. One that no block has changes nothing.
-- Returns how many it took out.
if redis.call('EXISTS', blocks) == 0 then return 0 end
local gone, taken = {}, 0
for position = rest, #ARGV do gone[ARGV[position]] = true end
for position = rest, #ARGV do
    local id = ARGV[position]
    local block = redis.call('ZREVRANGEBYLEX', blocks, '(' .. id .. '\255', '-', 'LIMIT', 0, 1)[1]
    if block and string.find(block, id, 1, true) then
        local kept, start, sum = {}, 1, taken
        while start <= #block - 16 do
            local stop = string.find(block, '\255', start + 16, true)
            if gone[string.sub(block, start, start + 15)] then
                taken = taken + 1
            else
                kept[#kept + 1] = string.sub(block, start, stop)
            end
            start = stop + 1
        end
        if taken > sum then
            redis.call('ZREM', blocks, block)
            -- The end stays, so that blocks do not overlap.
            if kept[1] then redis.call('ZADD', blocks, '1', table.concat(kept) .. string.sub(block, -16)) end
        end
    end
end
if taken > 0 then redis.call('INCRBY', number, string.format('%d', -taken)) end
return taken
