-- Closes an hour, or corrects sums of closed hours: changes the sums of an hour, of its day and the list of watched
-- pushes in one step. The caller has computed the new values from the ones it read. So the step is taken only if
-- nobody has changed the app's sums since: each push is counted once, however many callers there are.
-- key state: `revision`, the number of changes so far; `next`, the first open hour; `since`, the first hour; hash
-- keys hour, day: their sums, hashes
-- key open: watched pushes, hash
-- argument revision: as the caller has read it
-- argument begins: '' or the hour with which the sums begin, because there are none yet, or the pushes before are gone
-- arguments closes, after: '' or the hour that is closed; then `next` is `after`
-- arguments hourLife, dayLife: ms that a closed hour and its day are kept from now; the state is kept as long as a day
-- arguments hourFields, dayFields: how many fields they have in `rest`
-- argument most: fields and values of one command
-- rest: fields and their values, in turns: of the hour, of the day, of the watched pushes. '' removes a field.
-- Returns 1, or 0 if another caller was first.
-- A repetition finds another revision and changes nothing. A death before it leaves the hour open.
if (redis.call('HGET', state, 'revision') or '0') ~= revision then return 0 end
-- The first command may be refused by a full Redis, and then nothing is written.
redis.call('HINCRBY', state, 'revision', 1)
if begins ~= '' then redis.call('HSET', state, 'next', begins, 'since', begins) end
if closes ~= '' then
    redis.call('HSET', state, 'next', after)
    redis.call('UNLINK', hour)
end
local at = rest
most = tonumber(most)
local function write(key, last)
    local put, drop = {}, {}
    while at < last do
        if ARGV[at + 1] == '' then
            drop[#drop + 1] = ARGV[at]
        else
            put[#put + 1], put[#put + 2] = ARGV[at], ARGV[at + 1]
        end
        at = at + 2
        local isFull = #put + #drop >= most or at >= last
        if isFull and #put > 0 then redis.call('HSET', key, unpack(put)) end
        if isFull and #drop > 0 then redis.call('HDEL', key, unpack(drop)) end
        if isFull then put, drop = {}, {} end
    end
end
write(hour, rest + 2 * hourFields)
write(day, rest + 2 * (hourFields + dayFields))
write(open, #ARGV)
if closes ~= '' then
    redis.call('PEXPIRE', hour, hourLife)
    redis.call('PEXPIRE', day, dayLife)
end
redis.call('PEXPIRE', state, dayLife)
redis.call('PEXPIRE', open, dayLife)
return 1
