-- Whether a name is to be listed.
-- uses holders
-- key b: root of the name, hash
-- key n: name meta, hash
-- Returns 0: nothing of it exists. 1: it has tokens or was published to.
--   2: only tombstones are left. The name is not listed but must stay in the index.
if redis.call('EXISTS', n) == 1 then return 1 end
local values = redis.call('HGETALL', b)
if #values == 0 then return 0 end
return has_tokens(values) and 1 or 2
