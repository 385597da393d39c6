-- Ends a push and keeps its record. Keys: the name's hash, the kept pushes. Arguments: id (16 bytes), time (ms), milliseconds
-- that the record is kept.
local n, raw, now, retention = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local m = redis.call('HGET', n, 'm')
local seq, ts, kept, state, last, block, begun = struct.unpack('>I5I5I6Bc16I6I6', m)
if state ~= 2 or last ~= raw then return redis.error_reply('another push is under way') end
redis.call('HSET', KEYS[2], raw, struct.pack('>I5I4', seq, math.max(now - begun, 0)) .. string.sub(m, 46))
if now + retention > block then
    block = now + retention + 3600000
    redis.call('PEXPIRE', KEYS[2], string.format('%d', retention + 3600000))
end
redis.call('HSET', n, 'm', struct.pack('>I5I5I6Bc16I6I6', seq, ts, kept, 0, last, block, begun))
return 1
