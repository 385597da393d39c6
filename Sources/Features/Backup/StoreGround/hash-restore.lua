-- Writes a hash of a backup if there is none. An existing one only gets the first fields, and of these those that it lacks.
-- key hash: of a name: its meta or its broadcast channel
-- argument life: ms that a new hash lives from now; 0 = until something removes it
-- argument added: how many fields an existing hash may get
-- rest: fields and values
-- Returns 1 if there was none, else 0.
local existed = redis.call('EXISTS', hash) == 1
local last = existed and rest + 2 * added - 1 or #ARGV
for i = rest, last, 2 do redis.call('HSETNX', hash, ARGV[i], ARGV[i + 1]) end
if existed then return 0 end
if tonumber(life) > 0 then redis.call('PEXPIRE', hash, life) end
return 1
