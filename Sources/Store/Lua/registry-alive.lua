-- Whether a name is to be listed.
--
-- KEYS[1] b: root of the name, hash
-- KEYS[2] n: name meta, hash
-- Returns 0: nothing of it exists. 1: it has tokens or was published to; a name with several buckets counts as having
--   tokens.
--   2: only tombstones are left. The name is not listed but must stay in the index.
-- Atomic; writes nothing.
if redis.call('EXISTS', KEYS[2]) == 1 then return 1 end
local values = redis.call('HGETALL', KEYS[1])
if #values == 0 then return 0 end
for i = 1, #values, 2 do
    if values[i] == 'n' or (string.byte(values[i + 1]) or 1) % 2 == 0 then return 1 end
end
return 2
