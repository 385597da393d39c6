-- Fragment for registry-set: compares a registration with the channel's record or tombstone in the bucket.

-- Whether two activity ids are known and differ.
local function differ(one, other) return one ~= other and one ~= NO_ID and other ~= NO_ID end

-- The functions below return a verdict, a table:
--   isStale: the registration is not stored. If there is a `record` too, it takes the place of the stored value.
--   record: the value to store. It may also note the removal of another activity.
--   isNew: the token differs from the stored one.
--   isNewCard: the card differs, because the channel did not follow or this is another activity.
--   isUnknown: nothing stored is of this card. So it is new, whatever its device's clock says, which may be slow.
-- isOld: the device's time is too old to be believed, so the record has the time of arrival. latest: see is_older
local function compare_with_record(old, record, isOld, latest)
    local new, id, before = action_time(record), id_hash(record), id_hash(old)
    if is_older(new, action_time(old), latest) then return {isStale = true} end
    local isNewCard = differ(before, id) or start_of(old) + ACTIVITY_LIFE < new
    if isOld and (before ~= id or id == NO_ID) then return {isStale = true} end
    if has_flag(old, NOTED) and is_older(new, noted_time(old), latest) then
        if noted_id(old) == id then
            -- The removal of this activity came before its registration.
            return {isStale = true, record = tombstone(noted_bytes(old), id, action_bytes(record))}
        end
        record = with_note(record, noted_id(old), noted_bytes(old))
    end
    return {record = record, isNew = token_of(old) ~= token_of(record), isNewCard = isNewCard, isUnknown = isNewCard}
end

-- A tombstone shows that the card is new only if it and the registration have activity ids that differ.
local function compare_with_tombstone(old, record, isOld, latest)
    if isOld then return {isStale = true} end
    local new, dead, floor, id = action_time(record), action_time(old), floor_time(old), id_hash(record)
    local isPruned = has_flag(old, PRUNED)
    if is_older(new, dead, latest) or (isPruned and new == dead) then
        -- A tombstone of a prune has the token's hash here, that of a removal the id's.
        local held, same = id_hash(old), nil
        if isPruned then same = token_hash(token_of(record)) == held else same = not differ(id, held) end
        if same or is_older(new, floor, latest) then
            return {isStale = true, record = new > floor and with_floor(old, action_bytes(record)) or nil}
        end
        -- Another activity was removed later. Note that, because its registration may still arrive.
        if not isPruned then record = with_note(record, held, action_bytes(old)) end
    end
    return {record = record, isNew = true, isNewCard = true, isUnknown = differ(activity_of(old), id)}
end

local function compare_with_stored(old, record, isOld, latest)
    if is_registration(old) then return compare_with_record(old, record, isOld, latest) end
    if is_tombstone(old) then return compare_with_tombstone(old, record, isOld, latest) end
    return {record = record, isNew = true, isNewCard = true, isUnknown = true}
end
