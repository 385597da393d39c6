-- Tries what scripts need of a server: the time, a write, and a key that the caller did not declare.
-- Keys found in data: one with the scratch key's hash tag.
-- key scratch: a scratch key
-- argument life: of the scratch keys, ms
-- Returns a name and an error text for each refusal.
local refused = {}
local function try(what, ...)
    local reply = redis.pcall(...)
    if type(reply) == 'table' and reply.err then
        table.insert(refused, what)
        table.insert(refused, reply.err)
    end
end
try('TIME in a script', 'TIME')
try('SET in a script', 'SET', scratch, '1', 'PX', life)
try('a key that a script finds', 'SET', scratch .. ':found', '1', 'PX', life)
return refused
