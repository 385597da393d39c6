-- Removes a push before its life is over, because its app has too many. Only one that is final and that nothing needs.
-- key p: push, hash
-- keys pr, tr, shown, ended, dismissed: what else belongs to the push: pruned channels, trace, whom receipts counted
-- keys n, v: name meta; newest states by audience; hashes. Cards may still need a push that they name.
-- keys w, d, h, o, q, t: tasks and dead letter of the push; retry queues, pending removals, unswept pushes and broadcast
--   queue of the name. While one of them exists, something may still need the push.
-- argument id: of the push
-- argument cards: time, ms. A push that was accepted before it has no cards any more.
-- Returns 1: it is removed. 0: it stays, or there is none.
local state, created = unpack(redis.call('HMGET', p, 'state', 'created'))
if not state or state == 'queued' or state == 'sending' then return 0 end
if redis.call('EXISTS', w, d, h, o, q, t) > 0 then return 0 end
if tonumber(created) >= tonumber(cards) then
    local named = redis.call('HMGET', n, 'newest', 'last', 'ends', 'over_id', 'begun_id', 'paced')
    for _, value in ipairs(redis.call('HVALS', v)) do named[#named + 1] = value end
    for _, value in pairs(named) do if value and string.find(value, id, 1, true) then return 0 end end
end
redis.call('UNLINK', p, pr, tr, shown, ended, dismissed)
return 1
