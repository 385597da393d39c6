-- Registers or removes the schema of an attributes type. The new version tells every gateway.
-- KEYS[1] schemas: hash
-- ARGV[1] field of the type
-- ARGV[2] the document; absent: remove the schema
-- ARGV[3] most types
-- Returns 1; 0: there are too many types, or there was nothing to remove.
-- Atomic.
if #ARGV == 1 then
    if redis.call('HDEL', KEYS[1], ARGV[1]) == 0 then return 0 end
else
    local new = redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0
    -- One field is the version.
    if new and redis.call('HLEN', KEYS[1]) > tonumber(ARGV[3]) then return 0 end
    redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
end
redis.call('HINCRBY', KEYS[1], 'version', 1)
return 1
