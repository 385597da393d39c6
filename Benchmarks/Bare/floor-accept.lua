-- Accepts a push and begins it. Keys: the name's hash, its tokens, the stream, the index. Arguments: id (16 bytes), name,
-- numbers (flags 2, milliseconds that it lasts 4, and that it is kept 6), content. Returns nil if it is not the usual push.
local n, raw, name, content = KEYS[1], ARGV[1], ARGV[2], ARGV[4]
local flags, lasting, retention = struct.unpack('>I2I4I6', ARGV[3])
local m = redis.call('HGET', n, 'm')
local seq, ts, kept, state, last, block = 0, 0, 0, 0, '', 0
if m then
    seq, ts, kept, state, last, block = struct.unpack('>I5I5I6Bc16I6', m)
    if state ~= 0 or raw <= last then return nil end
end
local tokens = redis.call('HRANDFIELD', KEYS[2], 17, 'WITHVALUES')
if #tokens == 0 or #tokens > 32 then return nil end
seq = seq + 1
local entry = redis.call('XADD', KEYS[3], '*', 'n', name, 'p', raw .. last .. content, 't', table.concat(tokens))
local now = tonumber(string.sub(entry, 1, 13))
local second = math.max(math.floor(now / 1000), ts)
local renews = now + retention > kept
if renews then kept = now + retention + 3600000 end
redis.call('HSET', n, 'm', struct.pack('>I5I5I6Bc16I6I6I2I4', seq, second, kept, 2, raw, block, now, flags, lasting) .. last .. content)
redis.call('ZADD', KEYS[4], 1, raw .. name)
if renews then redis.call('PEXPIRE', n, string.format('%d', retention + 3600000)) end
return seq
