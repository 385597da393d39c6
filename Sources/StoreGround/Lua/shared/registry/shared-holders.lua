-- Fragment for scripts that ask whether a name has tokens. The flags of a tombstone are odd (RegistryRecord.swift).

-- Whether the root of a name has tokens. A name with several buckets counts as having some.
-- root: fields and values
local function has_tokens(root)
    for i = 1, #root, 2 do
        if root[i] == 'n' or (string.byte(root[i + 1]) or 1) % 2 == 0 then return true end
    end
    return false
end
