-- Fragment for scripts that close a name, open it or undo a closing. n is the name's meta (hash).
-- An accepted `end` for everyone closes its name. If the end reaches no device, the closing is undone. Fields of n:
--   `ends`: the ends that still close the name, as `<sequence>:<ms>:<push id>`, oldest first, the newest 8.
--   `opened`: the name's last sequence number at the time when it was opened.
--   `over`, `over_id`: sequence number and push id of the newest of `ends`.
--   `ended`: time (ms) of that end, absent while the name is open (`opened` is not older than `over`).
local function mark_ended(n, ends)
    if #ends == 0 then return redis.call('HDEL', n, 'ends', 'ended', 'over', 'over_id') end
    local seq, at, id = string.match(ends[#ends], '^(%d+):(%d+):(.+)$')
    redis.call('HSET', n, 'ends', table.concat(ends, ' '), 'over', seq, 'over_id', id)
    if tonumber(seq) > tonumber(redis.call('HGET', n, 'opened') or 0) then
        redis.call('HSET', n, 'ended', at)
    else
        redis.call('HDEL', n, 'ended')
    end
end

-- Returns the entries of `ends` except that of the push `besides`, and whether `besides` had one.
local function ends_without(n, besides)
    local ends, found = {}, false
    for entry in string.gmatch(redis.call('HGET', n, 'ends') or '', '%S+') do
        if string.sub(entry, -36) == besides then found = true else ends[#ends + 1] = entry end
    end
    return ends, found
end

local function close_name(n, seq, at, id)
    local ends = ends_without(n, id)
    ends[#ends + 1] = string.format('%d:%s:%s', seq, at, id)
    table.sort(ends, function(x, y) return tonumber(string.match(x, '^%d+')) < tonumber(string.match(y, '^%d+')) end)
    while #ends > 8 do table.remove(ends, 1) end
    mark_ended(n, ends)
end

-- Opens the name for all ends so far: they do not close it any more, even if a newer end is undone later.
local function open_name(n)
    redis.call('HDEL', n, 'ended')
    redis.call('HSET', n, 'opened', redis.call('HGET', n, 'seq') or 0)
end

-- Undoes the closing by the end `id`. An older end may still close the name.
local function undo_close(n, id)
    local ends, found = ends_without(n, id)
    if found then mark_ended(n, ends) end
end
