-- Fragment for scripts that may meet a handed push: a lone push that its acceptance has begun (push-accept) and handed to
-- whichever worker reads its stream entry. The entry has the push and the tokens, so that worker asks nothing
-- (docs/adr/0053-forms-of-a-push.md). Its lease has epoch 1, and the entry's id as its owner.
-- Field `handed` of the name's meta: `<deadline> <length> <entry> <stream> <begun> <begun id> <paced> <newest push then>
--   <name>`: the lease, the entry, and what `begun`, `begun_id` and `paced` were before, `-` = absent.

-- Ends that a push is handed, before something changes what its entry says. As long as no worker has read the entry, the
-- push waits again, as if its acceptance had not begun it, behind another entry. Otherwise it has begun, and the entry is
-- its owner. isReader: the caller has read the entry, and does not send the push. n: name meta
local function take_back(n, handed, isReader)
    if not handed then return end
    local deadline, length, entry, stream, begun, begunID, paced, pacedLast, name =
        string.match(handed, '^(%d+) (%d+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (.*)$')
    if not isReader then
        -- `workers`: the group in which all of them read (WorkQueue). Without the group no worker has read anything.
        local readers = redis.pcall('XPENDING', stream, 'workers', entry, entry, 1)
        if not readers.err and readers[1] then
            redis.call('HSET', n, 'sent', '1 ' .. deadline .. ' ' .. length .. ' ' .. entry)
            redis.call('HDEL', n, 'handed')
            return
        end
        local id = string.match(redis.call('HGET', n, 'lone') or '', '^%S+')
        redis.call('XADD', stream, '*', 'v', '1', 't', 'name', 'p', id, 'n', name)
        redis.call('XDEL', stream, entry)
    end
    local before = redis.call('HGET', n, 'before')
    local back, gone = {}, {'handed', 'before'}
    local function set(field, value)
        if value then back[#back + 1], back[#back + 2] = field, value else gone[#gone + 1] = field end
    end
    set('begun', begun ~= '-' and begun)
    set('begun_id', begunID ~= '-' and begunID)
    set('paced', paced ~= '-' and paced .. ' ' .. pacedLast)
    set('newest', before)
    if back[1] then redis.call('HSET', n, unpack(back)) end
    redis.call('HDEL', n, unpack(gone))
end
