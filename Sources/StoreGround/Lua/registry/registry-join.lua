-- Stores the registrations of a name that are the usual case in registry-set, and leaves the others to it.
-- uses buckets, rotation
-- key b: root of the name, hash
-- keys n, h, a, f, v, g: as in registry-set
-- argument knownCount: the count that the buckets were computed from, as in registry-set
-- arguments life, threshold: ms that a bucket lives from now; fields beyond which it should be split
-- rest: fours: number of the bucket, channel, record, flags: those of registry-set; 4 more: it must decide. A channel
--   is there once. The fours of a bucket stand together, so that the bucket is read and written once.
-- Returns a character for each, whose code is 48 more than the answer of registry-set. 0: nothing was done, registry-set
--   must decide.
--   {right count}: the caller's count is outdated. Nothing was done.
local buckets = redis.call('HGET', b, 'n') or '1'
if buckets ~= knownCount then return {buckets} end
local ended, catch, ending, newest, sent, handed =
    unpack(redis.call('HMGET', n, 'ended', 'catch', 'ending', 'newest', 'sent', 'handed'))
local hasLate = redis.call('EXISTS', f) == 1
local isQuiet = not (catch or sent or handed) and redis.call('EXISTS', h, g) == 0
local takesNew = isQuiet and not (ended or ending) and redis.call('EXISTS', a) == 0
local hasState = newest or hasLate or redis.call('EXISTS', v) == 1
local takesNext = isQuiet and not hasLate

local answers = {}
-- The fours from `first` to `last` are of one bucket.
local function join(bucket, first, last)
    local channels, fields = {}, {}
    for i = first, last, 4 do channels[#channels + 1] = ARGV[i + 1] end
    local values = redis.call('HMGET', bucket, unpack(channels))
    local size = redis.call('HLEN', bucket)
    for at, channel in ipairs(channels) do
        local stored, record, flags = values[at], ARGV[first + 4 * at - 2], ARGV[first + 4 * at - 1]
        local isUsual
        if stored then
            isUsual = takesNext and tonumber(flags) < 2 and is_next_token(stored, record)
        else
            isUsual = takesNew and tonumber(flags) < 4 and not (hasState and (flags == '1' or flags == '3'))
        end
        local answer = '0'
        if isUsual then
            fields[#fields + 1], fields[#fields + 2] = channel, record
            if not stored then size = size + 1 end
            answer = stored and '1'
                or string.char(48 + 16 + (size == 1 and bucket == b and 9 or size > tonumber(threshold) and 2 or 1))
        end
        answers[#answers + 1] = answer
    end
    if #fields > 0 then
        redis.call('HSET', bucket, unpack(fields))
        renew(b, bucket, life)
    end
end

local first = rest
while first <= #ARGV do
    local last = first
    while ARGV[last + 4] == ARGV[first] do last = last + 4 end
    join(ARGV[first] == '0' and b or b .. ':' .. ARGV[first], first, last)
    first = last + 4
end
return table.concat(answers)
