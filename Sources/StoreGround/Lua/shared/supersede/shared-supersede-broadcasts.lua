-- Fragment for broadcast-take: which pushes of the broadcast queue are superseded.
-- uses supersede

-- Returns the position of the first push that none behind it supersedes.
-- pushes: `supersede_fields` of each, oldest first
local function first_to_send(pushes)
    -- A push is superseded if the one behind it that is tried longest may supersede it. Pushes behind a stateless push
    -- supersede nothing before it, because the cards keep the state from before the stateless push.
    local isSuperseded, longest = {}, nil
    for i = #pushes, 1, -1 do
        local push = pushes[i]
        isSuperseded[i] = longest and may_supersede(longest, push, true)
        if push.isStateless then
            longest = nil
        elseif not longest or lives_until(push) > lives_until(longest) then
            longest = push
        end
    end
    local first = 1
    while isSuperseded[first] do first = first + 1 end
    return first
end
