-- Packs entries of one sorted set of an app's index of pushes: each `size` of them, in their order, become a block.
-- keys entries, blocks: an hour's pushes, id and name, and blocks of these, zsets in byte order. A block is its
--   entries, each with a byte 255 behind it, and the id of the last one. So it sorts by its first one, and no two
--   blocks overlap: an entry before the last block's end stays an entry.
-- key number: how many entries the blocks have, string
-- argument before: entries before it are packed, '(' and bytes; '+' = all
-- arguments size, most: entries of a block; most blocks of one call
-- arguments few, isOver: a set of no more entries is compact and stays as it is, unless isOver is 1 and others of its
--   hour were packed: then the rest is written anew, because Redis makes no set compact again that was large once
-- Returns how many entries it packed. At least one stays: an empty set would be gone with its life, which processes
-- prolong only now and then.
-- A second call packs what is left.
local function few_left() return redis.call('ZCARD', entries) <= tonumber(few) end
if few_left() and (isOver ~= '1' or redis.call('EXISTS', blocks) == 0) then return 0 end
local last = redis.call('ZREVRANGEBYLEX', blocks, '+', '-', 'LIMIT', 0, 1)[1]
local from = last and '(' .. string.sub(last, -16) .. '\255' or '-'
size = tonumber(size)
local found = redis.call('ZRANGEBYLEX', entries, from, before, 'LIMIT', 0, size * most + 1)
local packed = math.floor((#found - 1) / size) * size
local left = redis.call('PTTL', entries)
-- Their life is that of the entries.
local function keep(key) if left > 0 then redis.call('PEXPIRE', key, string.format('%d', left)) end end
if packed > 0 then
    -- A full Redis refuses the first block, and then nothing is written.
    for first = 1, packed, size do
        local final = found[first + size - 1]
        local block = table.concat(found, '\255', first, first + size - 1) .. '\255' .. string.sub(final, 1, 16)
        redis.call('ZADD', blocks, '1', block)
    end
    redis.call('ZREMRANGEBYLEX', entries, '[' .. found[1], '[' .. found[packed])
    redis.call('INCRBY', number, string.format('%d', packed))
    keep(blocks)
    keep(number)
end
if isOver == '1' and few_left() then
    local again = {}
    for position, entry in ipairs(redis.call('ZRANGE', entries, 0, -1)) do
        again[2 * position - 1], again[2 * position] = '1', entry
    end
    redis.call('UNLINK', entries)
    redis.call('ZADD', entries, unpack(again))
    keep(entries)
end
return math.max(packed, 0)
