-- Finds a name's pushes, newest first: each holds the id of the one before it.
-- uses kept
-- key n: name meta, hash
-- argument from: only pushes before this one; '' = from the name's last push on
-- argument most: most pushes
-- argument ps: common prefix of the p keys
-- Returns their ids. A push whose record is gone ends the list.
-- Keys found in data: docs/keyspace.md.
local found = {}
local last, lone = unpack(redis.call('HMGET', n, 'last', 'lone'))
local loneID, beforeLone = string.match(lone or '', '^(%S+) %d+ %d+ %d+ %d+ %d+ %d+ %S+ %S+ %S+ (%S+)')
-- Whether there is a push, and the one before it.
local function look(id)
    if id == loneID then return true, beforeLone ~= '-' and beforeLone end
    local block, raw = kept_place(ps .. id)
    local value = block and redis.call('HGET', block, raw)
    local flags = kept_head(raw, value)
    if flags then return true, kept_prev(flags, value) end
    local seq, previous = unpack(redis.call('HMGET', ps .. id, 'seq', 'prev'))
    return seq, previous
end
local id = last
if from ~= '' then id = select(2, look(from)) end
while id and id ~= '' and #found < tonumber(most) do
    local isThere, previous = look(id)
    if not isThere then break end
    found[#found + 1] = id
    id = previous
end
return found
