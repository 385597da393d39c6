-- Fragment for scripts that add outgoing events. out: the app's stream. wh: the queue of its webhook, a stream
-- keep: about how many events the app's stream keeps; 0 = it has none. isForWebhook: 1 or 0
local function add_event(out, wh, keep, id, kind, event, isForWebhook)
    if keep ~= '0' then redis.call('XADD', out, 'MAXLEN', '~', keep, '*', 'id', id, 'type', kind, 'event', event) end
    if isForWebhook == '1' then redis.call('XADD', wh, '*', 'id', id, 'type', kind, 'event', event) end
end
