-- Retries what a push gave up, in steps of a few hundred channels. A crash leaves the rest in the dead letter. Refused
-- if a newer push of the name has begun that a card shows or may show, or if the deadline is past: no card may go back
-- to an older state.
-- uses time, platforms, broadcast, resuming
-- keys n, q: name meta, hash; the name's unswept pushes, zset by sequence number
-- keys p, w: this push and its tasks, hashes
-- keys r, h: waiting channels, zset by due time (ms); their retry queues, hash
-- keys dl, dlc: the push's dead letter and its channels, hashes
-- keys bt, v: broadcast queue, zset by sequence number; states by audience, hash
-- arguments id, raw: push id as text and as 16 bytes
-- arguments deadline, retention: of the push, ms
-- argument step: 'look', 'resume' (a push that was stopped) or 'take'. 'look' lets platforms that refused the push have
--   it again.
-- arguments cursor, pageSize: for 'take': cursor in dl:c, at first 0; about how many channels
-- Returns {'none'}: there is no dead letter.
--   {'expired'}: the deadline is past, or everything in the dead letter has expired.
--   {'open'}: the push was cancelled, is not finished, or was stopped again.
--   {'newer', push id or ''}: that push began later and stands, or may.
--   after 'look': {'takes'}, or {'resumes'} if the push was stopped. Call dead-collect then, and 'resume' after it.
--   after 'resume': {'resumed'}: the sweep goes on where it stopped, and an undelivered broadcast waits again. Add
--     entries for the push and for its broadcast to the stream.
--   after 'take': {'taken', how many, next cursor, how many are left, the push's id if it became final, else ''}. With
--     none left the dead letter is removed.
-- Keys found in data: docs/keyspace.md.
-- Atomic. A push that is behind this one in a retry queue is withdrawn, and leaves it without being sent.
local state, seq, stopped, expanded, broadcast, tell =
    unpack(redis.call('HMGET', p, 'state', 'seq', 'stopped', 'expanded', 'bc', 'tell'))
if not state or redis.call('EXISTS', dl) == 0 then return {'none'} end
local now = redis_now()
if now >= tonumber(deadline) then return {'expired'} end
local resumes = state == 'failed' and stopped
-- The sweep of the stopped push has not finished. Other shards still write down where they stopped.
if resumes and (expanded ~= '1' or step == 'take') then return {'open'} end
local isOpen = state == 'done' or state == 'expired' or state == 'sending' or state == 'queued'
if not isOpen and not resumes then return {'open'} end
local shown, shownID = newest_shown(n, v, string.sub(p, 1, -37), now)
if shown > tonumber(seq) then return {'newer', shownID} end
if step == 'look' then
    -- A broadcast and a token expire shortly before the deadline if no attempt is left. Their dead letter stays.
    local hasExpired = redis.call('HLEN', dlc) == 0 and redis.call('HEXISTS', dl, 'r:Expired') == 1
    if hasExpired and not resumes then return {'expired'} end
    redis.call('HDEL', p, on_platforms('stopped'))
    return {resumes and 'resumes' or 'takes'}
end

-- Close the name again. It was opened because this `end` reached no device, and now the end goes out once more.
local function close_again()
    local closes = redis.call('HGET', p, 'closes')
    if closes then close_name(closes, seq, string.format('%.0f', now), id) end
end

if step == 'resume' then
    -- Another call has done it meanwhile.
    if not resumes then return {'resumed'} end
    redis.call('HSET', p, 'state', 'sending')
    if resume_shards(dl, w) > 0 then
        -- `resumed`: push-begin has counted the push in the budget.
        redis.call('HSET', p, 'state', 'queued', 'resumed', 1)
        redis.call('HDEL', p, 'expanded')
        redis.call('ZADD', q, seq, id)
        redis.call('HDEL', n, 'firm')
    elseif broadcast == 'cancelled' or broadcast == 'failed' then
        -- push-begin will not see this push again, so its broadcast joins the queue here.
        redis.call('HSET', p, 'bc', 'waiting')
        join_broadcast(bt, w, id, seq, retention)
    end
    redis.call('HDEL', p, 'stopped', 'finished')
    tell_again(p, tell)
    close_again()
    redis.call('HDEL', dl, 'stop')
    -- A dead letter with positions alone is kept until 'take' finds it empty.
    redis.call('HSET', dl, 'at', string.format('%.0f', now))
    redis.call('PEXPIRE', w, retention)
    keep_name(n, q, retention)
    return {'resumed'}
end

local found = redis.call('HSCAN', dlc, cursor, 'COUNT', pageSize)
local taken = queue_again(found[2], p, w, dl, dlc, r, h, raw, string.format('%.0f', now))
if taken > 0 then
    write_counts()
    tell_again(p, tell)
    close_again()
    if state ~= 'queued' then redis.call('HSET', p, 'state', 'sending') end
    redis.call('HDEL', p, 'finished')
    for _, key in ipairs({r, h, w}) do redis.call('PEXPIRE', key, retention) end
    keep_name(n, q, retention)
end
local left = redis.call('HLEN', dlc)
if left == 0 then
    redis.call('UNLINK', dl)
    -- A push that was stopped after its last page has nothing left to wait for.
    finish(p, w, string.format('%.0f', now))
end
return {'taken', taken, found[1], left, table.concat(finalPushes, ' ')}
