-- Whether a push to a name can reach a channel. Publishers get a hint about names that no channel follows.
-- KEYS[1] b: root of the name, hash
-- KEYS[2] a: started channels, hash
-- KEYS[3] bc: the name's broadcast channel, hash
-- KEYS[4] n: name meta, hash
-- KEYS[5] q: the name's unswept pushes, zset
-- ARGV[1] common prefix of the p keys
-- Returns 1: a channel follows the name, or a start was published. 0: neither.
-- Keys found in data: docs/keyspace.md.
-- Atomic; writes nothing. A name with several buckets counts as followed. A record that is not on this node counts as no
-- start.
if redis.call('EXISTS', KEYS[2], KEYS[3]) > 0 or redis.call('HEXISTS', KEYS[4], 'started') == 1 then return 1 end
if has_tokens(redis.call('HGETALL', KEYS[1])) then return 1 end
for _, id in ipairs(redis.call('ZREVRANGE', KEYS[5], 0, 19)) do
    if redis.pcall('HGET', ARGV[1] .. id, 'event') == 'start' then return 1 end
end
return 0
