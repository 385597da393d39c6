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
--   'most' count: tags that the channel may have; comes first
--   'add' field
--   'remove' field
--   'set' prefix count field...: of the fields with the prefix, only these
--   'again' field: bring the set to what the record says, whatever its state was thought to be
-- Returns {version, field, '+' or '-', ...}: the changes that the caller makes to the sets and then confirms.
--   {'full'}: nothing was changed, because the channel would have too many tags.
-- Atomic. A record far beyond the limit, from a version without one, is not read whole. It can only lose tags, by
-- 'remove', and the answer holds only the fields of the call.
local key = KEYS[1]
local life = tonumber(ARGV[2])
local crossing = string.format('%.0f', ARGV[1] + ARGV[3])
local changed = false
local function sign(state) return string.sub(state or '', 1, 1) end
local function put(field, state)
    redis.call('HSET', key, field, state)
    changed = true
end
local function join(field)
    local state = sign(redis.call('HGET', key, field))
    if state == '-' then put(field, '+' .. crossing) elseif state == '' then put(field, '+') end
end
local function leave(field)
    local state = sign(redis.call('HGET', key, field))
    if state == '+' then put(field, '-' .. crossing) elseif state == '1' then put(field, '-') end
end

local i, most = 4, math.huge
if ARGV[4] == 'most' then i, most = 6, tonumber(ARGV[5]) end
local size = redis.call('HLEN', key)
local isHuge = size > 4 * most + 64
-- Whether the channel would have more tags than before and more than it may. The operations begin at i.
local function isFull()
    if size + #ARGV <= most then return false end
    local has, before, after = {}, 0, 0
    local function count(field, there)
        -- Groups that begin with \1 are Lamplighter's own.
        if not string.find(field, '^t:[^\1]') or (has[field] or false) == there then return end
        has[field] = there
        after = after + (there and 1 or -1)
    end
    local record = isHuge and {} or redis.call('HGETALL', key)
    for j = 1, #record, 2 do
        if sign(record[j + 1]) ~= '-' then count(record[j], true) end
    end
    before = after
    local j = i
    while j <= #ARGV do
        local operation, field = ARGV[j], ARGV[j + 1]
        j = j + 2
        if operation == 'add' or operation == 'remove' then
            if isHuge and operation == 'add' then return true end
            count(field, operation == 'add')
        elseif operation == 'set' then
            if isHuge then return true end
            for held in pairs(has) do
                if has[held] and string.sub(held, 1, #field) == field then count(held, false) end
            end
            for k = j + 1, j + tonumber(ARGV[j]) do count(ARGV[k], true) end
            j = j + 1 + tonumber(ARGV[j])
        end
    end
    return after > before and after > most
end
if isFull() then return {'full'} end

local named = {}
redis.call('HSETNX', key, 'created', ARGV[1])
redis.call('HSETNX', key, 'renewed', ARGV[1])
redis.call('HSET', key, 'seen', ARGV[1])
if life > 0 then redis.call('PEXPIRE', key, ARGV[2]) else redis.call('PERSIST', key) end
while i <= #ARGV do
    local operation, field = ARGV[i], ARGV[i + 1]
    i = i + 2
    named[#named + 1] = field
    if operation == 'add' then
        join(field)
    elseif operation == 'remove' then
        leave(field)
    elseif operation == 'again' then
        local state = sign(redis.call('HGET', key, field))
        if state == '' then put(field, '-') elseif state == '1' then put(field, '+') end
    elseif operation == 'set' then
        local count, wanted = tonumber(ARGV[i]), {}
        for j = i + 1, i + count do
            wanted[ARGV[j]] = true
            join(ARGV[j])
        end
        i = i + 1 + count
        for _, held in ipairs(redis.call('HKEYS', key)) do
            if string.sub(held, 1, #field) == field and not wanted[held] then leave(held) end
        end
    else
        return redis.error_reply('ERR channel-mark: unknown operation')
    end
end

local all = isHuge and {} or redis.call('HGETALL', key)
if isHuge then
    for _, field in ipairs(named) do
        all[#all + 1] = field
        all[#all + 1] = redis.call('HGET', key, field) or ''
    end
end
local renews = life > 0 and ARGV[1] - redis.call('HGET', key, 'renewed') >= life / 4
local answer = {0}
for j = 1, #all, 2 do
    local state = sign(all[j + 1])
    local isSet = string.find(all[j], ':', 1, true)
    if isSet and renews and state == '1' then
        put(all[j], '+')
        state = '+'
    end
    if isSet and (state == '+' or state == '-') then
        answer[#answer + 1] = all[j]
        answer[#answer + 1] = state
    end
end
if renews then redis.call('HSET', key, 'renewed', ARGV[1]) end
answer[1] = changed and redis.call('HINCRBY', key, 'v', 1) or tonumber(redis.call('HGET', key, 'v') or '0')
return answer
