-- Notes the version of a channel's app, or the names that a batch has removed, and finds out whether an update of the app
-- removed them: both come within `window` of each other.
-- uses time, since
-- key c: record of the channel, as in channel-mark. Field `version`: `<when it took the place of another, ms, or 0>
--   <version>`; field `cleared`: `<when, ms, or 0 if they are back> <the last removal by the phone's clock, ms> <names>`
-- argument version: '' = not told
-- argument removed: the last removal and the names, separated by newlines, as in `cleared`; '' = none
-- argument window: ms
-- Returns the names that an update removed, or ''. They are returned until the caller says, with neither version nor
-- names, that they are back. A new version brings cards back once, so that cards which their user swipes away after that
-- stay away.
if redis.call('EXISTS', c) == 0 then return '' end
local now = redis_now()
local known, noted = unpack(redis.call('HMGET', c, 'version', 'cleared'))
local changed, before = string.match(known or '', '^(%d+) (.*)$')
local at, cleared = string.match(noted or '', '^(%d+) (.*)$')
if version == '' and removed == '' then
    if before then redis.call('HSET', c, 'version', '0 ' .. before) end
    if cleared then redis.call('HSET', c, 'cleared', '0 ' .. cleared) end
    return ''
end
if version == '' then
    at, cleared = string.format('%.0f', now), removed
    redis.call('HSET', c, 'cleared', at .. ' ' .. cleared)
elseif version ~= before then
    changed = before and string.format('%.0f', now) or '0'
    redis.call('HSET', c, 'version', changed .. ' ' .. version)
end
local function is_recent(time) return time and since(tonumber(time), now) <= tonumber(window) end
return is_recent(changed) and is_recent(at) and string.match(cleared, '^%d+ (.*)$') or ''
