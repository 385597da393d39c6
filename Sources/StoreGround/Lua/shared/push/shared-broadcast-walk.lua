-- Fragment for broadcast-take: a broadcast queue whose channel is not made yet. Pushes expire there, so each call looks
-- at its next part. Field `walk` of the channel's hash has the position behind the last part and the first deadline.
-- uses supersede

-- When a push expires in the queue, ms. A push that is tried once has a deadline too.
local function deadline_of(push) return push.deadline or lives_until(push) end

-- Looks at the next part of the queue. Returns the position behind it (0 at the end) and the first deadline so far.
-- walk: stored by the last call. most: pushes of a part. latest: the deadline if no push has an earlier one.
-- look: returns the `supersede_fields` of a push that stays
local function walk_on(bt, walk, most, latest, look)
    local from, soonest = string.match(walk or '', '^(%d+) (%d+)$')
    from, soonest = tonumber(from or 0), tonumber(soonest or 0)
    if from == 0 then soonest = latest end
    local stay = 0
    local ids = redis.call('ZRANGE', bt, from, from + most - 1)
    for _, id in ipairs(ids) do
        local push = look(id)
        if push then
            stay = stay + 1
            soonest = math.min(soonest, deadline_of(push))
        end
    end
    return #ids == most and from + stay or 0, soonest
end
