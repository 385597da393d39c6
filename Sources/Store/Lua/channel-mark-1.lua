-- Says in a channel's record which sets (tags, named users) it is to be in, before the sets themselves are changed: they
-- lie on other slots. A field's value is '+' joining, '1' in, '-' leaving; whoever is in a set has a field for it, so that
-- nothing is forgotten when a process dies between the steps, and the next change of the channel finishes them.
-- A sign that is put over the opposite one has a time behind it: another writer's change of the set may still be on its way, and
-- that writer may be dead when it arrives. Until that time the sign stays, and each change of the channel repeats it.
-- A record expires when the channel was not seen for its life. So do sets, some time after their last renewal: a channel that is
-- seen renews its sets after a quarter of its life.
--
-- KEYS[1] record of the channel: fields created, seen, renewed (epoch ms), v, and one per set
-- ARGV[1] now, epoch ms; ARGV[2] the record's life, ms, 0 = for ever; ARGV[3] ms for which another writer may be on its way
-- ARGV[4...] operations: 'add' field | 'remove' field | 'set' prefix count field... (of the fields with the prefix, only
--     these) | 'again' field (bring the set to what the record says, whatever it was thought to be)
-- Returns {version, field, '+' or '-', ...}: what is now to be done to the sets and then confirmed.
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

redis.call('HSETNX', key, 'created', ARGV[1])
redis.call('HSETNX', key, 'renewed', ARGV[1])
redis.call('HSET', key, 'seen', ARGV[1])
if life > 0 then redis.call('PEXPIRE', key, ARGV[2]) else redis.call('PERSIST', key) end
local i = 4
while i <= #ARGV do
    local operation, field = ARGV[i], ARGV[i + 1]
    i = i + 2
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

local all = redis.call('HGETALL', key)
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
