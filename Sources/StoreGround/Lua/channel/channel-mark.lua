-- Says in a channel's record which sets (tags, named users) the channel is to be in, before the sets on other slots are
-- changed. A field is '+' while the channel joins its set, '1' while it is in, '-' while it leaves. A set's member
-- always has a field for it, so if a process dies, the next change of the channel finishes its steps.
-- A sign that replaces the opposite one is followed by a time, until which another writer's change of the set may
-- arrive. Until then the sign stays, and each change of the channel changes the set again.
-- A record expires if the channel was not seen for its life. A seen channel renews its sets after a quarter of it.
-- uses since, tags
-- key c: record of the channel, hash: created, seen, renewed (epoch ms), v, and one field per set
-- argument now: the caller's time, epoch ms
-- argument life: life of the record, ms; 0 = for ever
-- argument crossing: ms for which another writer's change may be on its way
-- rest: operations:
--   'most' count: tags that the channel may have; comes first. 'look' count instead only checks that the channel would
--     not have more, and changes nothing. 'part' count does not check: a 'look' has, at all parts of the call.
--   'add' field
--   'remove' field
--   'set' prefix count field...: of the fields with the prefix `t:GROUP:` or `u:`, only these
--   'again' field: bring the set to what the record says, whatever its state was thought to be
--   'exact' created seen count field...: the channel has these times and is in these sets and in no others, unless a
--     call has named it since. Then only its unfinished changes are answered. Comes right after the count.
-- Returns {version, field, '+' or '-', ...}: the changes that the caller makes to the sets and then confirms.
--   {'full'}: nothing was changed, because the channel would have too many tags.
--   after 'look': {0}
-- A record far beyond the limit is not read whole. It can only lose tags, and the answer has only the call's fields.
life = tonumber(life)
crossing = string.format('%.0f', now + crossing)
local word, i, most = ARGV[rest], rest, math.huge
if word == 'most' or word == 'look' or word == 'part' then i, most = rest + 2, tonumber(ARGV[rest + 1]) end
local size = redis.call('HLEN', c)
local isHuge = size > 4 * most + 64
read_record(c, isHuge, crossing)

if word ~= 'part' and size + #ARGV > most and has_too_many(isHuge, ARGV, i, most) then return {'full'} end
if word == 'look' then return {0} end

local created, seen, isNewer = now, now, false
if ARGV[i] == 'exact' then
    local stored = redis.call('HGET', c, 'seen')
    created, seen, isNewer = ARGV[i + 1], ARGV[i + 2], stored and tonumber(stored) >= tonumber(ARGV[i + 2])
    local wanted = {}
    for j = i + 4, i + 3 + ARGV[i + 3] do wanted[ARGV[j]] = true end
    if not isNewer then
        for _, held in ipairs({unpack(channelFields)}) do
            if string.find(held, ':', 1, true) and not wanted[held] then leave(held) end
        end
        for field in pairs(wanted) do join(field) end
    end
    i = i + 4 + ARGV[i + 3]
end
if not isNewer then
    redis.call('HSETNX', c, 'created', created)
    redis.call('HSETNX', c, 'renewed', now)
    redis.call('HSET', c, 'seen', seen)
    if life > 0 then
        redis.call('PEXPIRE', c, string.format('%.0f', math.max(1, life - (now - seen))))
    else
        redis.call('PERSIST', c)
    end
end
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
        for _, held in ipairs(fields_with(field)) do if not wanted[held] then leave(held) end end
    else
        return redis.error_reply('ERR channel-mark: unknown operation')
    end
end

local renews = not isNewer and life > 0
    and since_told(tonumber(redis.call('HGET', c, 'renewed')), tonumber(now)) >= life / 4
local answer = {0}
for _, field in ipairs(channelFields) do
    local state = sign(channelRecord[field])
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
local isChanged = write_changes(c)
if renews then redis.call('HSET', c, 'renewed', now) end
answer[1] = isChanged and redis.call('HINCRBY', c, 'v', 1) or tonumber(redis.call('HGET', c, 'v') or '0')
return answer
