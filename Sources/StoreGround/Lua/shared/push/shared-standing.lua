-- Fragment for scripts in which a push replaces an older one. The older one comes back unless the newer one stands.
-- The same rule is `PushState.stands` in Swift (docs/adr/0005-waiting-tokens.md).

-- Whether a begun push stands: 'yes', 'open' as long as it may still be stopped before it reaches anybody, or 'no'. A
-- push stands if a card or the broadcast channel has it, or if it is done and nothing of it expired.
-- p: its record. A kept record is `done`. While a slot moves, a read may fail. Then the push counts as standing.
local function standing(p)
    local state, delivered, broadcast, expired = unpack(redis.pcall('HMGET', p, 'state', 'delivered', 'bc', 'expired'))
    if not state or tonumber(delivered or 0) > 0 or broadcast == 'delivered' then return 'yes' end
    if state == 'queued' or state == 'sending' then return 'open' end
    local isDone = state == 'done' and tonumber(expired or 0) == 0 and broadcast ~= 'expired'
    return isDone and 'yes' or 'no'
end
