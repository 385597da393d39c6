-- Says in a channel's record which sets (tags, named users) the channel is to be in, before the sets are changed. The
-- sets are on other slots. A field is '+' while the channel joins its set, '1' while it is in, '-' while it leaves. A
-- set's member always has a field for it. So nothing is forgotten if a process dies between the steps: the next change
-- of the channel finishes them.
--
-- A sign that replaces the opposite one is followed by a time. Until then another writer's change of the set may still
-- arrive, even if that writer is dead by then. So the sign stays until that time, and each change of the channel
-- changes the set again.
--
-- A record expires if the channel was not seen for its life. A set expires some time after its last renewal. A channel
-- that is seen renews its sets after a quarter of its life.
--
-- KEYS[1] c: record of the channel, hash: created, seen, renewed (epoch ms), v, and one field per set
-- ARGV[1] now, epoch ms
-- ARGV[2] life of the record, ms; 0 = for ever
-- ARGV[3] ms for which another writer's change may be on its way
-- ARGV[4 ...] operations:
--   'most' count: tags that the channel may have; comes first. 'look' count instead only checks that the channel would
--     not have more, and changes nothing. 'part' count does not check: a 'look' has, at all parts of the call.
--   'add' field
--   'remove' field
--   'set' prefix count field...: of the fields with the prefix `t:GROUP:` or `u:`, only these
--   'again' field: bring the set to what the record says, whatever its state was thought to be
-- Returns {version, field, '+' or '-', ...}: the changes that the caller makes to the sets and then confirms.
--   {'full'}: nothing was changed, because the channel would have too many tags.
--   after 'look': {0}
-- Atomic. A record far beyond the limit, from a version without one, is not read whole. It can only lose tags, by
-- 'remove', and the answer holds only the fields of the call.
local key = KEYS[1]
local life = tonumber(ARGV[2])
local crossing = string.format('%.0f', ARGV[1] + ARGV[3])
local word, i, most = ARGV[4], 4, math.huge
if word == 'most' or word == 'look' or word == 'part' then i, most = 6, tonumber(ARGV[5]) end
local size = redis.call('HLEN', key)
local isHuge = size > 4 * most + 64

-- The record is read once and written in a few parts, because a call may name hundreds of tags. Of a huge record only the
-- fields of the call are read.
local record, fields, changes = {}, {}, {}
-- The record's fields by their prefix `t:GROUP:` or `u:`, for 'set'. Nil until the first 'set'.
local by_prefix
local function file(field)
    local prefix = prefix_of(field)
    by_prefix[prefix] = by_prefix[prefix] or {}
    table.insert(by_prefix[prefix], field)
end
local function take(field, state)
    if record[field] == nil then
        fields[#fields + 1] = field
        if by_prefix then file(field) end
    end
    record[field] = state
end
local stored = isHuge and {} or redis.call('HGETALL', key)
for j = 1, #stored, 2 do take(stored[j], stored[j + 1]) end
local function state_of(field)
    if isHuge and record[field] == nil then take(field, redis.call('HGET', key, field) or '') end
    return sign(record[field])
end
local function put(field, state)
    take(field, state)
    changes[#changes + 1] = field
end
local function join(field)
    local state = state_of(field)
    if state == '-' then put(field, '+' .. crossing) elseif state == '' then put(field, '+') end
end
local function leave(field)
    local state = state_of(field)
    if state == '+' then put(field, '-' .. crossing) elseif state == '1' then put(field, '-') end
end

if word ~= 'part' and size + #ARGV > most and has_too_many(fields, record, isHuge, ARGV, i, most) then
    return {'full'}
end
if word == 'look' then return {0} end

redis.call('HSETNX', key, 'created', ARGV[1])
redis.call('HSETNX', key, 'renewed', ARGV[1])
redis.call('HSET', key, 'seen', ARGV[1])
if life > 0 then redis.call('PEXPIRE', key, ARGV[2]) else redis.call('PERSIST', key) end
while i <= #ARGV do
    local operation, field = ARGV[i], ARGV[i + 1]
    i = i + 2
    if operation == 'add' then
        join(field)
    elseif operation == 'remove' then
        leave(field)
    elseif operation == 'again' then
        local state = state_of(field)
        if state == '' then put(field, '-') elseif state == '1' then put(field, '+') end
    elseif operation == 'set' then
        local count, wanted = tonumber(ARGV[i]), {}
        for j = i + 1, i + count do
            wanted[ARGV[j]] = true
            join(ARGV[j])
        end
        i = i + 1 + count
        if not by_prefix then
            by_prefix = {}
            for _, held in ipairs(fields) do file(held) end
        end
        for _, held in ipairs(by_prefix[field] or {}) do
            if not wanted[held] then leave(held) end
        end
    else
        return redis.error_reply('ERR channel-mark: unknown operation')
    end
end

local renews = life > 0 and ARGV[1] - redis.call('HGET', key, 'renewed') >= life / 4
local answer = {0}
for _, field in ipairs(fields) do
    local state = sign(record[field])
    local isSet = string.find(field, ':', 1, true)
    if isSet and renews and state == '1' then
        put(field, '+')
        state = '+'
    end
    if isSet and (state == '+' or state == '-') then
        answer[#answer + 1] = field
        answer[#answer + 1] = state
    end
end
for first = 1, #changes, 500 do
    local values = {}
    for j = first, math.min(first + 499, #changes) do
        values[#values + 1] = changes[j]
        values[#values + 1] = record[changes[j]]
    end
    redis.call('HSET', key, unpack(values))
end
if renews then redis.call('HSET', key, 'renewed', ARGV[1]) end
answer[1] = #changes > 0 and redis.call('HINCRBY', key, 'v', 1) or tonumber(redis.call('HGET', key, 'v') or '0')
return answer
