-- Whether a push to a name can reach somebody: for the hint that a publisher gets about a name that nobody follows.
--
-- KEYS[1] root of the name, KEYS[2] channels that were started and have not told their token, KEYS[3] its broadcast channel,
-- KEYS[4] n (name meta), KEYS[5] q (its unswept pushes)
-- ARGV[1] the p keys' common prefix
-- Returns 1 somebody does, or a start was published; 0 nobody does.
-- Atomic; writes nothing. Of a name with several buckets it is taken for granted. Records of pushes are reached by their ids, as
-- in push-accept; one that is not on this node counts as no start.
if redis.call('EXISTS', KEYS[2], KEYS[3]) > 0 or redis.call('HEXISTS', KEYS[4], 'started') == 1 then return 1 end
local values = redis.call('HGETALL', KEYS[1])
for i = 1, #values, 2 do
    if values[i] == 'n' or (string.byte(values[i + 1]) or 1) % 2 == 0 then return 1 end
end
for _, id in ipairs(redis.call('ZREVRANGE', KEYS[5], 0, 19)) do
    if redis.pcall('HGET', ARGV[1] .. id, 'event') == 'start' then return 1 end
end
return 0
