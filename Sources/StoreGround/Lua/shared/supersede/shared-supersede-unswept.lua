-- Fragment for push-accept: the waiting pushes that a new push supersedes. The rule is that of shared-supersede. Here it
-- reads `sup`, which says until when a push is tried that can be superseded, because a publish pays for each field.
-- uses silent

-- Returns the ids of the waiting pushes that the new push supersedes, whether a push that stays is not supersedable,
-- whether no waiting push is supersedable, and a set of the superseded pushes that an operator retried: they have tasks,
-- and may wait in retry queues. While a slot moves, a read may fail. Then the push stays.
-- waiting: push ids, oldest first. active: the active push, which is not superseded. lives: until when the new push is
-- tried, ms. audience: of the new push, or false if it supersedes nothing. silent: it also goes to silent phones.
-- ps, ws: common prefixes of the p and w keys
local function superseded_by(waiting, active, audience, lives, silent, ps, ws)
    local found, someNotSupersedable, noneSupersedable, withTasks = {}, false, true, {}
    for _, id in ipairs(waiting) do
        if id ~= active then
            local values = redis.pcall('HMGET', ps .. id, 'sup', 'aud', 'bare', 'resumed', 'silent')
            local tried, itsAudience, stateless, resumed, itsSilent = unpack(values)
            if values.err or tried then noneSupersedable = false end
            -- Pushes before a stateless one stay, because the cards show their content state after it.
            if stateless then found, withTasks = {}, {} end
            local isCovered = audience == '*' or audience and itsAudience == audience
            local isSuperseded = isCovered and tried and lives >= tonumber(tried) and (silent or not itsSilent)
            local tasks = isSuperseded and resumed and redis.pcall('EXISTS', ws .. id)
            if isSuperseded and type(tasks) ~= 'table' then
                found[#found + 1] = id
                withTasks[id] = tasks == 1 or nil
            elseif isSuperseded or not tried then
                someNotSupersedable = true
            end
        end
    end
    return found, someNotSupersedable, noneSupersedable, withTasks
end
