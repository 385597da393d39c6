-- Fragment for registrations: the usual rotation.
-- uses constants

-- Reads a record's time of the action.
local function action_ms(value)
    local one, two, three, four, five = string.byte(value, 2, 6)
    return (((one * 256 + two) * 256 + three) * 256 + four) * 256 + five
end

-- Whether the record is of a follower whose device has lost its card: its flags have a platform, and its token is
-- PushToken.withoutCard. value: may be nil
local function is_without_card(value)
    return value and value ~= '' and bit.band(string.byte(value), 96) ~= 0 and string.sub(value, -1) == '+'
end

-- Whether a channel says its card's token again, or the next one, so that the new record only replaces the stored
-- value. False where the rules (shared-registration) have to decide.
local function is_next_token(stored, record)
    local marks = #stored > 10 and string.byte(stored)
    if not marks or marks ~= string.byte(record) or bit.band(marks, TOMBSTONE + AHEAD + NOTED) ~= 0 or
        string.sub(stored, 8, 10) ~= string.sub(record, 8, 10) or is_without_card(stored) ~= is_without_card(record) then
        return false
    end
    local before, after = action_ms(stored), action_ms(record)
    return before <= after and before - string.byte(stored, 7) * AGE_UNIT + ACTIVITY_LIFE >= after
end

