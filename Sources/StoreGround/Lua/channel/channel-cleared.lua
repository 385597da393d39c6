-- Notes the version of a channel's app, or the names that a batch has removed, and finds out whether an update of the app
-- removed them: both come within `window` of each other.
-- uses time, since
-- key c: record of the channel, as in channel-mark. Field `version`: `<when it took the place of another, ms, or 0>
--   <version>`; field `cleared`: `<when, ms> <names>`
-- argument version: '' = not told
-- argument names: separated by newlines; '' = none
-- argument window: ms
-- Returns the names that an update removed, or ''. They are returned until the caller says, with neither version nor
-- names, that they are back. A new version brings cards back once, so that cards which their user swipes away after that
-- stay away.
if redis.call('EXISTS', c) == 0 then return '' end
local now = redis_now()
local known, removed = unpack(redis.call('HMGET', c, 'version', 'cleared'))
local changed, before = string.match(known or '', '^(%d+) (.*)$')
if version == '' and names == '' then
    if before then redis.call('HSET', c, 'version', '0 ' .. before) end
    redis.call('HDEL', c, 'cleared')
    return ''
end
if version ~= '' and version ~= before then
    changed = before and string.format('%.0f', now) or '0'
    redis.call('HSET', c, 'version', changed .. ' ' .. version)
end
local at = tostring(now)
if names == '' then at, names = string.match(removed or '', '^(%d+) (.*)$') end
local function is_recent(time) return time and since(tonumber(time), now) <= tonumber(window) end
if names and is_recent(changed) and is_recent(at) then return names end
if version == '' then redis.call('HSET', c, 'cleared', string.format('%.0f %s', now, names)) end
return ''
