-- Settles one page: counters, checkpoint, lease, retry queues, pending removals, early stop, finish of sweep and push.
-- uses time, keep
-- keys n, q: name meta, hash; the name's unswept pushes, zset by sequence number
-- keys p, w: this push and its tasks, hashes
-- keys r, h: waiting channels, zset by due time (ms); their retry queues, hash
-- keys k, o, z, f: catch-up, zset; pending removals, open requests, late joiners, hashes
-- key pk: the block of kept records to which the push belongs, hash
-- arguments id, raw: push id as text and as 16 bytes
-- argument shard: 'c' for the catch-up
-- arguments owner, epoch, length: of the caller's lease; length in ms from now
-- arguments from, to: first position of the page and the position after it; in the catch-up `from` is the page's number
-- arguments first, last: first position of the shard and the position after it
-- argument stop: reason to stop the push early, or ''
-- argument abandons: 1 = the push was stopped: give up the rest of the shard, and keep its position for an operator
-- argument retention: how long the data is kept, ms
-- arguments ps, ws, dls: common prefixes of the p, w and dl keys
-- argument open: the app's names with work, zset; '' in a cluster, where it is on another slot
-- rest: operations, each with its arguments:
--   'dead' channel reason: a token of the page is given up. 'add' counts it.
--   'add' field n: adds n to a counter of the push, for tokens that this page read.
--   'remove' channel-and-token value: a pending removal, counted when it is confirmed.
--   'retry' channel due attempts platform: a token of the page, tried again at due (ms). 'add' counts it as read.
--   'open' channel attempts id length platform: a token of the page whose request is open for at most `length` ms.
--     The answer may come right after this call. 'add' counts it as read.
--   'join' channel attempts platform: the channel waits for an older push, so this push joins its retry queue and is
--     counted here. If it supersedes a push there, it inherits that push's attempts, but not more than this number.
--   'refuse' platform reason others: a platform refuses the push. It stops early if all of the other codes did, too.
--   'caughtUp' channel arrival: the catch-up has handled the channel, unless it registered once more.
--   'reached' channel arrival: the same, and the channel has the push, so it is no late joiner.
-- Returns {'stale'}: another worker has the lease. Nothing was written.
--   {'gone'}: no such push.
--   {'ok', state, part finished 0|1, unswept pushes of the name, due ms of its first waiting channel or '', pending
--     removals of other pushes, catch-up waits 0|1, ids of the pushes that became final}. Without the last: the usual
--     case, so this push is final, and the page's counts are the whole ledger.
-- Keys found in data: docs/keyspace.md.
-- If the worker dies before this call, the next owner reads and sends the page again. Repeating counts nothing twice.

-- The usual case: one page is the whole sweep of a lone push, and all that happened is to be added up.
local isUsual = stop == '' and abandons == '0' and shard == '0/1' and from == first and to == last
for at = rest, #ARGV, 3 do
    isUsual = isUsual and ARGV[at] == 'add' and ARGV[at + 1] ~= 'expired'
    if not isUsual then break end
end
local lone, sent, handed, newest, before = unpack(redis.call('HMGET', n, 'lone', 'sent', 'handed', 'newest', 'before'))
-- Set for a usual push that needs a function of the rules: its end is told, or it gets a hash of its own.
local answer, kept, life, tell, finished
if isUsual and (sent or handed) and string.find(lone, id, 1, true) == 1 then
    local ownEpoch, itsOwner, name = string.match(sent or '', '^(%d+) %d+ %d+ (.*)$')
    -- The lease of a handed push has epoch 1, and the stream entry is its owner (shared-handed).
    if handed then ownEpoch, itsOwner, name = '1', string.match(handed, '^%d+ %d+ (%S+) %S+ %S+ %S+ %S+ %S+ (.*)$') end
    -- None of these keys is made while a push is handed, and the name has no other work (push-accept).
    if ownEpoch == epoch and itsOwner == owner and (handed or redis.call('EXISTS', k, r, o) == 0) then
        finished = string.format('%d', redis_now())
        kept, life, tell = pack_kept(lone, raw, finished, newest, ARGV, rest)
        answer = {'ok', 'done', 1, 0, '', 0, 0}
        if kept then
            redis.call('HSET', pk, raw, kept)
            redis.call('PEXPIRE', pk, life)
            redis.call('HDEL', n, 'lone', 'sent', 'handed', 'before')
            if handed and not tell and open ~= '' then redis.call('ZREM', open, name) end
            if not tell then return answer end
        end
    end
end
-- uses lone, lease, page, checkpoint, sweep
if answer then
    if kept then note_end(p, tell, 'done', finished) else settle_lone(n, p, lone, life, tell, finished, ARGV, rest) end
    return answer
end
if lone then unpack_lone(n) end
local part = shard .. ':'
local state = redis.call('HGET', p, 'state')
-- A kept push was settled before, by this call or another.
if not state then return {redis.call('HEXISTS', pk, raw) == 1 and 'stale' or 'gone'} end
local time = redis_now()
local now = string.format('%.0f', time)
local lease, position, ahead, wasFinished = lease_of(w, part, part .. 'p', part .. 'a', part .. 'f')
if not has_lease(lease, epoch, owner) then return {'stale'} end
renew_lease(w, part, time, length)

from, to = tonumber(from), tonumber(to)
position, ahead = math.max(tonumber(position or '0'), tonumber(first)), ahead or ''
local repeated = is_settled(position, ahead, from, to)
local dl = dls .. id
local push = {p = p, w = w, h = h, r = r, k = k, z = z, dl = dl, ps = ps, ws = ws, dls = dls, raw = raw, state = state,
    stopReason = redis.call('HGET', p, 'stopped'), isStopped = state == 'failed' or state == 'cancelled',
    supersedeFields = supersede_fields_of(p), now = now, time = time, retention = retention}

-- Nothing of a repeated page is counted again.
local waiting, removals = page_operations(push, n, f, id, ARGV, repeated and #ARGV + 1 or rest)
if not waiting then return redis.error_reply('ERR task-settle: unknown operation') end
join_queues(push, waiting)
note_removals(push, o, removals)
write_entries(now, retention)

if (stop ~= '' or push.refusal) and not push.isStopped then
    state, push.isStopped = 'failed', true
    stop_early(p, w, dl, push.refusal or stop, now, retention)
end
-- Keep where the shard stopped, so that dead-retry can resume it.
if abandons == '1' and state == 'failed' and not wasFinished and redis.call('EXISTS', dl) == 1 then
    redis.call('HSET', dl, 'p:' .. shard, string.format('%.0f %s %s', position, epoch, ahead))
end

position, ahead = settle_page(position, ahead, from, to)
redis.call('HSET', w, part .. 'p', string.format('%.0f', position), part .. 'a', ahead)
if from < to and not repeated then redis.call('HDEL', w, part .. 'c') end
local isCatchUp = part == 'c:'
local isFinished = not isCatchUp and position >= tonumber(last)
if isFinished and not wasFinished then
    redis.call('HSET', w, part .. 'f', 1)
    redis.call('HINCRBY', w, 'left', -1)
end
local sweep = end_sweep(n, q, k, p, w, id, push.isStopped)
-- The answer to the last settlement was lost, and this repeats it.
local hasEnded = sweep == 'ended' or redis.call('HGET', p, 'expanded') == '1'
-- After 16 pages the catch-up takes no more channels if another push waits, whose sweep finds the later ones.
local isLong = sweep == 'catchUp' and isCatchUp and position >= 16
if isLong and redis.call('ZCARD', q) > 1 then redis.call('HDEL', n, 'catch') end
local ownRemovals = tonumber(redis.call('HGET', w, 'owed') or 0)
state = finish(p, w, now)
-- When the push reached its first device. One that ends with this page needs no such time.
if push.reaches and state == 'sending' then redis.call('HSETNX', p, 'first', now) end
-- No late joiner needs what the newest push replaced, because that one is done. The next push takes the usual case.
if before and newest and string.find(newest, id, 1, true) and state == 'done' then redis.call('HDEL', n, 'before') end
return {'ok', state, (isFinished or hasEnded) and 1 or 0, redis.call('ZCARD', q), first_due(r),
    redis.call('HLEN', o) - ownRemovals, sweep == 'catchUp' and 1 or 0, table.concat(finalPushes, ' ')}
