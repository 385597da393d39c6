-- Takes a due schedule in hand for a while: from now on it cannot be deleted. Whoever finds it in hand for longer takes it
-- again; the push has the schedule's id, so committing it twice changes nothing.
-- KEYS  1 the schedule (hash)
-- ARGV  1 now ms, as schedule-due gave it  2 for how long it is in hand, ms
-- Returns {'gone'}, {'final'} (sent, failed or deleted), {'held'} (another has it in hand, or it is to be tried later),
-- {'early', due ms} (it was put off), or {'taken', fields and values}.
local state = redis.call('HMGET', KEYS[1], 'state', 'until', 'due')
if not state[1] then return {'gone'} end
if state[1] ~= 'scheduled' and state[1] ~= 'taken' then return {'final'} end
if state[1] == 'scheduled' and tonumber(state[3] or 0) > tonumber(ARGV[1]) then return {'early', state[3]} end
if tonumber(state[2] or 0) > tonumber(ARGV[1]) then return {'held'} end
redis.call('HSET', KEYS[1], 'state', 'taken', 'until', string.format('%.0f', ARGV[1] + ARGV[2]))
return {'taken', redis.call('HGETALL', KEYS[1])}
