-- Part of push-accept: the condition of a push. It holds if `after` is the name's newest push that counts: one that
-- stands, and is neither an automatic end nor a test, which is traced and for one channel. The same rule is
-- `Pushes.present` in Swift. A name whose last hundred pushes do not count has no newest push.
-- uses standing, kept
if after then
    local newest, left = last or nil, 100
    while newest do
        local push = ps .. newest
        local state, before, trace, aud, ends =
            unpack(redis.call('HMGET', push, 'state', 'prev', 'trace', 'aud', 'cutoff'))
        if not state then
            -- A kept record stands. Without a record nobody knows the push any more.
            local block, raw = kept_place(push)
            if not raw or redis.call('HEXISTS', block, raw) == 0 then newest = nil end
            break
        end
        local isTest = trace and string.sub(aud, 1, 1) == 'c'
        if not isTest and not ends and standing(push) ~= 'no' then break end
        left = left - 1
        newest = left > 0 and before or nil
    end
    if (newest or 'none') ~= after then return {'conflict', newest or ''} end
end
