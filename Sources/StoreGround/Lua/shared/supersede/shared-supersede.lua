-- Fragment for scripts in which a newer push may supersede an older one of its name. This is the one rule, for unswept
-- pushes (shared-supersede-unswept), retry queues (-queued) and the broadcast queue (-broadcasts).

-- The fields of a push's record that the rule needs, for HMGET.
local SUPERSEDE_FIELDS = {'sup', 'event', 'bare', 'until', 'expiry', 'created', 'aud', 'seq', 'silent'}

-- Names the values of SUPERSEDE_FIELDS.
local function supersede_fields(values)
    local supersedable, event, stateless, deadline, expiry, created, audience, seq, silent = unpack(values)
    return {isSupersedable = supersedable and true, event = event, isStateless = stateless == '1',
        deadline = tonumber(deadline or ''), expiry = tonumber(expiry or ''), created = tonumber(created or '') or 0,
        audience = audience, seq = tonumber(seq or '') or 0, reachesSilent = silent == '1'}
end

-- The fields do not change, so a script reads each record once.
local records = {}
local function supersede_fields_of(p)
    records[p] = records[p] or supersede_fields(redis.call('HMGET', p, unpack(SUPERSEDE_FIELDS)))
    return records[p]
end

-- The time (ms) until which a push is tried. For a push that is tried once (expiry 0) it is that of its acceptance.
local function lives_until(push)
    if push.expiry == 0 then return push.created end
    -- A record that is gone has no deadline.
    return push.deadline or 0
end

-- Whether `newer` may supersede `older`, for the same tokens. Only an update without an alert can be superseded, by a
-- push with a content state that is tried at least as long, so that it does not expire first. An update that came back may
-- be behind a newer one. An update that also goes to silent phones stays before a push that does not go to them. As a
-- broadcast, which is for iOS, it does not.
local function may_supersede(newer, older, isBroadcast)
    return older.isSupersedable and newer.seq > older.seq and newer.event ~= 'start' and not newer.isStateless
        and lives_until(newer) >= lives_until(older)
        and (isBroadcast or newer.reachesSilent or not older.reachesSilent)
end
