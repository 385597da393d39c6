-- Adds outgoing events to an app's stream, and to its queue of events.
-- uses events
-- keys out, queue: the app's stream; its queue of events, a stream too
-- key state: of the queue, hash; `dropped` counts the events that a full queue lost
-- argument keep: about how many events the app's stream keeps; 0 = it has none
-- argument most: most events in the queue, about
-- rest: fours: id, type, event (JSON), 1 = it is queued
-- Returns how many of the oldest events the queue lost because it was full.
-- If the caller dies before it removes them from the outbox, they are added again, with the same ids.
local isAdded = false
for i = rest, #ARGV, 4 do
    add_event(out, queue, keep, ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3])
    isAdded = isAdded or ARGV[i + 3] == '1'
end
local dropped = isAdded and redis.call('XTRIM', queue, 'MAXLEN', '~', most) or 0
if dropped > 0 then redis.call('HINCRBY', state, 'dropped', dropped) end
return dropped
