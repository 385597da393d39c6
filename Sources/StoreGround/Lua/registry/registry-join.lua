-- Stores the registrations of a name that are the usual case in registry-set, and leaves the others to it.
-- uses buckets, rotation
-- key b: root of the name, hash
-- keys n, h, a, f, v, g: as in registry-set
-- argument knownCount: the count that the buckets were computed from, as in registry-set
-- arguments life, threshold: ms that a bucket lives from now; fields beyond which it should be split
-- rest: fours: number of the bucket, channel, record, flags: those of registry-set; 4 more: it must decide. A channel
--   is there once.
-- Returns a digit for each: 1 stored. 2 stored, and its bucket is too full. 9: stored, and the root is new. 0: nothing
--   was done, registry-set must decide.
--   {right count}: the caller's count is outdated. Nothing was done.
local buckets = redis.call('HGET', b, 'n') or '1'
if buckets ~= knownCount then return {buckets} end
local ended, catch, ending, newest, sent =
    unpack(redis.call('HMGET', n, 'ended', 'catch', 'ending', 'newest', 'sent'))
local hasLate = redis.call('EXISTS', f) == 1
local isQuiet = not (catch or sent) and redis.call('EXISTS', h, g) == 0
local takesNew = isQuiet and not (ended or ending) and redis.call('EXISTS', a) == 0
local hasState = newest or hasLate or redis.call('EXISTS', v) == 1
local takesNext = isQuiet and not hasLate

local renewed = {}
local function join(bucket, channel, record, flags)
    local stored = redis.call('HGET', bucket, channel)
    local isUsual
    if stored then
        isUsual = takesNext and tonumber(flags) < 2 and is_next_token(stored, record)
    else
        isUsual = takesNew and tonumber(flags) < 4 and not (hasState and (flags == '1' or flags == '3'))
    end
    if not isUsual then return '0' end
    redis.call('HSET', bucket, channel, record)
    if not renewed[bucket] then renew(b, bucket, life) end
    renewed[bucket] = true
    local size = stored and 0 or redis.call('HLEN', bucket)
    return size == 1 and bucket == b and '9' or size > tonumber(threshold) and '2' or '1'
end

local answers = {}
for i = rest, #ARGV, 4 do
    local bucket = ARGV[i] == '0' and b or b .. ':' .. ARGV[i]
    answers[#answers + 1] = join(bucket, ARGV[i + 1], ARGV[i + 2], ARGV[i + 3])
end
return table.concat(answers)
