-- Fragment for scripts that add outgoing events. out: the app's stream. queue: its queue of events, a stream too
-- keep: about how many events the app's stream keeps; 0 = it has none. isQueued: 1 or 0
local function add_event(out, queue, keep, id, kind, event, isQueued)
    if keep ~= '0' then redis.call('XADD', out, 'MAXLEN', '~', keep, '*', 'id', id, 'type', kind, 'event', event) end
    if isQueued == '1' then redis.call('XADD', queue, '*', 'id', id, 'type', kind, 'event', event) end
end
