-- Fragment for registry-set: compares a registration with the channel's record or tombstone in the bucket.
-- uses removals

-- 1: the second of two starts is later, -1: earlier, 0: about the same, or one of them lies ahead.
local function later_start(one, other, latest)
    if math.abs(other - one) <= AGE_UNIT or math.max(one, other) > latest then return 0 end
    return other > one and 1 or -1
end

-- The functions below return a verdict, a table:
--   isStale: the registration is not stored. If there is a `record` too, it takes the place of the stored value.
--   record: the value to store, with removals of other activities that are later.
--   isNew: the token differs from the stored one.
--   isNewCard: the card differs, because the channel did not follow or this is another activity.
--   isUnknown: nothing stored is of this card. So it is new, whatever its device's clock says, which may be slow.
-- isOld: the device's time is too old to be believed, so the record has the time of arrival. latest: see is_older
local function compare_with_record(old, record, isOld, latest)
    local new, id, before = action_time(record), id_hash(record), id_hash(old)
    local isOther = differ(before, id)
    -- The card that began later counts, whatever the times of the reports: iOS tells a token of a card
    -- that is just going some milliseconds after the first one of the next card.
    local later = isOther and later_start(start_of(old), start_of(record), latest) or 0
    if later < 0 or later == 0 and is_older(new, action_time(old), latest) then return {isStale = true} end
    local isNewCard = isOther or start_of(old) + ACTIVITY_LIFE < new
    if isOld and (before ~= id or id == NO_ID) then return {isStale = true} end
    if has_flag(old, NOTED) then
        local removals = removals_after(old, new, latest)
        -- The removal of this activity came before its registration, which takes the place of the stored one.
        if takes(removals, id) then return {isStale = true, record = tombstone(removals, new)} end
        if removals[1] then record = with_removals(record, removals) end
    end
    return {record = record, isNew = token_of(old) ~= token_of(record), isNewCard = isNewCard, isUnknown = isNewCard}
end

-- A tombstone shows that the card is new only if all activity ids in it and that of the registration are known and differ.
local function compare_with_tombstone(old, record, isOld, latest)
    if isOld then return {isStale = true} end
    local new, dead, floor, id = action_time(record), dead_since(old), floor_time(old), id_hash(record)
    -- The registration that went is known by its time, also when its removal lies ahead.
    local isRepeated = new == floor
    local removals = removals_after(old, new, isRepeated and math.huge or latest)
    local isRefused = takes(removals, id) or is_older(new, floor, latest)
    -- A tombstone of a prune has the token's hash in the id's place.
    if has_flag(old, PRUNED) and (isRepeated or is_older(new, dead, latest) or new == dead) then
        isRefused = isRefused or token_hash(token_of(record)) == id_hash(old)
    end
    if isRefused then return {isStale = true, record = new > floor and with_floor(old, string.sub(record, 2, 6)) or nil} end
    -- Other activities were removed later. Note that, because their registrations may still arrive.
    if removals[1] then record = with_removals(record, removals) end
    local isUnknown = differ(activity_of(old), id) and not takes(removals_after(old, 0, math.huge), id)
    return {record = record, isNew = true, isNewCard = true, isUnknown = isUnknown}
end

local function compare_with_stored(old, record, isOld, latest)
    if is_registration(old) then return compare_with_record(old, record, isOld, latest) end
    if is_tombstone(old) then return compare_with_tombstone(old, record, isOld, latest) end
    return {record = record, isNew = true, isNewCard = true, isUnknown = true}
end
