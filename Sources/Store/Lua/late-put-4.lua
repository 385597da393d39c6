-- Puts late followers in line for the state that they missed, or lets go of them. Each only while it stands in f as it was
-- read, so a repetition does nothing.
-- KEYS  1 n  2 f (late followers, hash)  3 h  4 r
-- ARGV  1 sequence of the last push that was taken up, as it was when they were looked at; '' for none
--       2 retention ms  3 the p keys' common prefix  4 the w keys', then fours: channel, its value in f, push (16 bytes), or ''
--       to let go of it, and that push's sequence
-- Returns {'again'}: a push was taken up since: nothing was done, look again.
--         {'ok', how many are left, how many were put in line}
-- The state is one that no sweep brings them any more: it was taken up before they came, and nothing since then was for
-- them. So their lines hold nothing that is newer, and whatever is taken up later finds them in line.
local n, f, h, r = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
if (redis.call('HGET', n, 'begun') or '') ~= ARGV[1] then return {'again'} end
local now = string.format('%.0f', redis_now())
local mostWaiting = 64
local put = 0

-- The channel's list with the push at its end, nil if it has no place there.
local function joined(channel, raw, seq)
    local list = redis.call('HGET', h, channel)
    -- Attempts from 16384 on: it goes out without its alert (retry-settle, WaitingChannel).
    if not list or #list < 19 then return header(16384, 0) .. raw, true end
    local last = id_text(string.sub(list, -16))
    local other = redis.call('HMGET', ARGV[3] .. last, unpack(standing))
    local before = redis.call('HGET', ARGV[3] .. last, 'seq')
    if (tonumber(before) or 0) >= seq then return nil end
    if takes_place(redis.call('HMGET', ARGV[3] .. id_text(raw), unpack(standing)), other) or not before then
        leave(ARGV[3] .. last, ARGV[4] .. last, 'superseded', '', now)
        list = string.sub(list, 1, -17)
        -- First in line: without the other one's attempts, and without its own alert.
        if #list == 3 then list = header(16384, string.byte(list, 3)) end
    elseif #list >= 3 + 16 * mostWaiting then
        return nil
    end
    return list .. raw, false
end

for i = 5, #ARGV, 4 do
    local channel, value, raw, seq = ARGV[i], ARGV[i + 1], ARGV[i + 2], tonumber(ARGV[i + 3])
    if redis.call('HGET', f, channel) == value then
        redis.call('HDEL', f, channel)
        local id = raw ~= '' and id_text(raw)
        local state = id and redis.call('HGET', ARGV[3] .. id, 'state')
        local line, isNew
        if state == 'sending' or state == 'done' then line, isNew = joined(channel, raw, seq) end
        if line then
            bring(ARGV[3] .. id, ARGV[4] .. id, h, r, channel, line, isNew, now, ARGV[2])
            put = put + 1
        end
    end
end
return {'ok', redis.call('HLEN', f), put}
