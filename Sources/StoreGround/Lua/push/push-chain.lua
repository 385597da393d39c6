-- Finds a name's pushes, newest first: each holds the id of the one before it.
-- key n: name meta, hash
-- argument from: only pushes before this one; '' = from the name's last push on
-- argument most: most pushes
-- argument ps: common prefix of the p keys
-- Returns their ids. A push whose record is gone ends the list.
-- Keys found in data: docs/keyspace.md.
local found = {}
local id = from == '' and redis.call('HGET', n, 'last') or from ~= '' and redis.call('HGET', ps .. from, 'prev')
while id and id ~= '' and #found < tonumber(most) do
    local seq, previous = unpack(redis.call('HMGET', ps .. id, 'seq', 'prev'))
    if not seq then break end
    found[#found + 1] = id
    id = previous
end
return found
