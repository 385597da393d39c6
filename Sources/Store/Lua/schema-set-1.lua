-- Registers the schema of an attributes type, or takes it away, and tells every gateway by the version.
-- KEYS  1 schemas (hash)
-- ARGV  1 the type's field  2 the document; none: take it away  3 most types
-- Returns 1, or 0: there are too many, or there was none to take away.
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
