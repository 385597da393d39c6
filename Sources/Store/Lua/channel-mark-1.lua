-- Says in a channel's record which sets (tags, named users) it is to be in, before the sets themselves are changed: they
-- lie on other slots. A field's value is '+' joining, '1' in, '-' leaving; whoever is in a set has a field for it, so that
-- nothing is forgotten when a process dies between the steps, and the next change of the channel finishes them.
--
-- KEYS[1] record of the channel: fields created, seen (epoch ms), v, and one per set
-- ARGV[1] now, epoch ms
-- ARGV[2...] operations: 'add' field | 'remove' field | 'set' prefix count field... (of the fields with the prefix, only
--     these) | 'again' field (bring the set to what the record says, whatever it was thought to be)
-- Returns {version, field, '+' or '-', ...}: what is now to be done to the sets and then confirmed.
local key = KEYS[1]
local changed = false
local function put(field, state)
    redis.call('HSET', key, field, state)
    changed = true
end
local function join(field)
    local state = redis.call('HGET', key, field)
    if state ~= '1' and state ~= '+' then put(field, '+') end
end
local function leave(field)
    local state = redis.call('HGET', key, field)
    if state and state ~= '-' then put(field, '-') end
end

redis.call('HSETNX', key, 'created', ARGV[1])
redis.call('HSET', key, 'seen', ARGV[1])
local i = 2
while i <= #ARGV do
    local operation, field = ARGV[i], ARGV[i + 1]
    i = i + 2
    if operation == 'add' then
        join(field)
    elseif operation == 'remove' then
        leave(field)
    elseif operation == 'again' then
        local state = redis.call('HGET', key, field)
        if not state then put(field, '-') elseif state == '1' then put(field, '+') end
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

local version = changed and redis.call('HINCRBY', key, 'v', 1) or tonumber(redis.call('HGET', key, 'v') or '0')
local answer = {version}
local all = redis.call('HGETALL', key)
for j = 1, #all, 2 do
    if all[j + 1] == '+' or all[j + 1] == '-' then
        answer[#answer + 1] = all[j]
        answer[#answer + 1] = all[j + 1]
    end
end
return answer
