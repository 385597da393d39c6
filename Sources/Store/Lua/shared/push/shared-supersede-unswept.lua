-- Fragment for push-accept: the waiting pushes that a new push supersedes.

-- By push id, what superseded_by found: a push that an operator retried has tasks, and may wait in retry queues.
local hasTasks = {}

-- Returns the ids of the waiting pushes that `push` supersedes, whether a push that stays is not supersedable, and
-- whether no waiting push is supersedable. While a slot moves, a read may fail. Then the push stays.
-- push: its `supersede_fields`. waiting: push ids, oldest first. active: the active push, which is not superseded.
-- isForTokens: false if the push supersedes nothing because it is for the broadcast channel alone
local function superseded_by(push, waiting, active, isForTokens, ps, ws)
    local found, someNotSupersedable, noneSupersedable = {}, false, true
    for _, id in ipairs(waiting) do
        if id ~= active then
            local values = redis.pcall('HMGET', ps .. id, unpack(SUPERSEDE_FIELDS))
            local other = not values.err and supersede_fields(values)
            if not other or other.isSupersedable then noneSupersedable = false end
            -- Pushes before a stateless one stay, because the cards show their content state after it.
            if other and other.isStateless then found = {} end
            local isCovered = other and (push.audience == '*' or other.audience == push.audience)
            if isForTokens and isCovered and may_supersede(push, other) then
                found[#found + 1] = id
            elseif not other or not other.isSupersedable then
                someNotSupersedable = true
            end
        end
    end
    for at = #found, 1, -1 do
        local exists = redis.pcall('EXISTS', ws .. found[at])
        hasTasks[found[at]] = exists == 1
        if type(exists) == 'table' then
            table.remove(found, at)
            someNotSupersedable = true
        end
    end
    return found, someNotSupersedable, noneSupersedable
end

-- p, w: of the superseded push. q: the name's unswept pushes. by: the new push
local function supersede(p, w, q, id, by, now)
    redis.call('ZREM', q, id)
    redis.call('HSET', p, 'superseded_by', by, 'expanded', 1, 'state', 'superseded', 'finished', now)
    if hasTasks[id] then
        end_push(p, w, 'superseded', now)
        finish(p, w, now)
    end
end
