-- Whether a push to a name can reach a channel. Publishers get a hint about names that no channel follows.
-- uses holders
-- key b: root of the name, hash
-- key a: started channels, hash
-- key bc: the name's broadcast channel, hash
-- key n: name meta, hash
-- key q: the name's unswept pushes, zset
-- argument ps: common prefix of the p keys
-- Returns 1: a channel follows the name, or a start was published. 0: neither.
-- Keys found in data: docs/keyspace.md.
-- Atomic; writes nothing. A name with several buckets counts as followed. A record on another node is no start.
if redis.call('EXISTS', a, bc) > 0 or redis.call('HEXISTS', n, 'started') == 1 then return 1 end
if has_tokens(redis.call('HGETALL', b)) then return 1 end
for _, id in ipairs(redis.call('ZREVRANGE', q, 0, 19)) do
    if redis.pcall('HGET', ps .. id, 'event') == 'start' then return 1 end
end
return 0
