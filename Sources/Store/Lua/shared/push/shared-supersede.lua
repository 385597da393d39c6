-- Fragment for scripts in which a newer push may supersede an older one of its name. This is the one rule. It is
-- applied to unswept pushes (push-accept, shared-supersede-unswept), to retry queues (task-settle and late-put,
-- shared-supersede-queued) and to the broadcast queue (broadcast-take, shared-supersede-broadcasts).

-- The fields of a push's record that the rule needs, for HMGET. `bare` 1: the push is stateless.
local supersede_fields = {'sup', 'event', 'bare', 'until', 'expiry', 'created', 'aud'}

-- They do not change, so a script reads each record once.
local records = {}
local function supersede_fields_of(p)
    records[p] = records[p] or redis.call('HMGET', p, unpack(supersede_fields))
    return records[p]
end

-- The time (ms) until which a push is tried. For a push that is tried once (expiry 0) it is that of its acceptance.
local function lives_until(push)
    local expiry, created = tonumber(push[5] or ''), tonumber(push[6] or '') or 0
    if expiry == 0 then return created end
    -- A record from before an upgrade has no deadline.
    return tonumber(push[4] or '') or expiry and expiry * 1000 or created + PUSH_LIFE
end

-- Whether `newer` may supersede `older`. Only an update without an alert can be superseded, and only by a push with a
-- content state. The caller checks that both are for the same tokens. The newer push must be tried at least as long.
-- Otherwise it could expire although the older one would have arrived.
local function may_supersede(newer, older)
    return older[1] == '1' and newer[2] ~= 'start' and newer[3] ~= '1' and lives_until(newer) >= lives_until(older)
end
