-- Whether a name is to be listed.
--
-- KEYS[1] root of the name, KEYS[2] its meta
-- Returns 0 nothing of it exists; 1 it has tokens (taken for granted of a name with several buckets) or was published to;
-- 2 only tombstones are left: not listed, but not to be forgotten yet.
if redis.call('EXISTS', KEYS[2]) == 1 then return 1 end
local values = redis.call('HGETALL', KEYS[1])
if #values == 0 then return 0 end
for i = 1, #values, 2 do
    if values[i] == 'n' or (string.byte(values[i + 1]) or 1) % 2 == 0 then return 1 end
end
return 2
