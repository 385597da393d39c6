-- Adds, changes or removes a credential of an app. The new version tells every gateway.
-- key creds: hash
-- argument field: field of the credential
-- argument old: what it must be now; '' = there must be none; '*' = anything
-- argument document: '' removes it
-- argument most: most credentials
-- Returns 1; 2: there are too many; 0: it is another one now, and nothing was changed. A repeated call gets 0 too.
local now = redis.call('HGET', creds, field) or ''
if old == '*' and now == '' or old ~= '*' and old ~= now then return 0 end
if document == '' then
    redis.call('HDEL', creds, field)
else
    -- One field is the version.
    if old == '' and redis.call('HLEN', creds) > tonumber(most) then return 2 end
    redis.call('HSET', creds, field, document)
end
redis.call('HINCRBY', creds, 'version', 1)
return 1
