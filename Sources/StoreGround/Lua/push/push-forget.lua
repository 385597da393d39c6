-- Removes a push before its life is over, because its app has too many. Only one that is final and that nothing needs.
-- uses kept
-- keys p, pk: push; the block of kept records to which it belongs; hashes
-- keys pr, tr, shown, ended, dismissed: what else belongs to the push: pruned channels, trace, whom receipts counted
-- keys n, v: name meta; states by audience; hashes. Cards may still need a push that they name.
-- keys w, d, h, o, q, t, outbox: tasks and dead letter of the push; retry queues, pending removals, unswept pushes,
--   broadcast queue and outbox of the name. While one of them exists, something may still need the push.
-- argument id: of the push
-- argument before: time, ms. Only a push that was accepted before it is removed.
-- argument cards: time, ms. A state that was begun before it has no cards any more.
-- Returns the time (ms) at which the push was accepted: it is removed. 0: it stays, or there is none.
local state, created = unpack(redis.call('HMGET', p, 'state', 'created'))
local _, raw = kept_place(p)
local isKept = false
if not state and raw then
    isKept, _, created = kept_head(raw, redis.call('HGET', pk, raw))
    state = isKept and 'done'
end
if not state or state == 'queued' or state == 'sending' then return 0 end
if tonumber(created) >= tonumber(before) or redis.call('EXISTS', w, d, h, o, q, t, outbox) > 0 then return 0 end
for _, states in ipairs(redis.call('HMGET', n, 'newest', 'before')) do
    local _, last = string.find(states or '', id, 1, true)
    local begun = last and string.match(states, '^ (%d+)', last + 1)
    if last and (not begun or tonumber(begun) >= tonumber(cards)) then return 0 end
end
for _, value in ipairs(redis.call('HVALS', v)) do if string.find(value, id, 1, true) then return 0 end end
if isKept then redis.call('HDEL', pk, raw) end
redis.call('UNLINK', p, pr, tr, shown, ended, dismissed)
return tonumber(created)
