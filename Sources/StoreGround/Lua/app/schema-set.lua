-- Registers or removes the schema of an attributes type. The new version tells every gateway.
-- key schemas: hash
-- argument field: field of the type
-- argument document: '' removes the schema
-- argument most: most types
-- Returns 1; 0: there are too many types, or there was nothing to remove.
if document == '' then
    if redis.call('HDEL', schemas, field) == 0 then return 0 end
else
    local new = redis.call('HEXISTS', schemas, field) == 0
    -- One field is the version.
    if new and redis.call('HLEN', schemas) > tonumber(most) then return 0 end
    redis.call('HSET', schemas, field, document)
end
redis.call('HINCRBY', schemas, 'version', 1)
return 1
