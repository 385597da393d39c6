-- Fragment for scripts with push ids: 16 bytes in queues and kept records, text in keys.

-- The channels of a page wait for the same few pushes.
local texts = {}
local function id_text(raw)
    if texts[raw] then return texts[raw] end
    local hex = string.gsub(raw, '.', function(c) return string.format('%02x', string.byte(c)) end)
    texts[raw] = string.format('%s-%s-%s-%s-%s', string.sub(hex, 1, 8), string.sub(hex, 9, 12), string.sub(hex, 13, 16),
        string.sub(hex, 17, 20), string.sub(hex, 21))
    return texts[raw]
end

-- Returns nil for a text that is no id.
local function raw_id(text)
    local a, b, c, d, e, f = string.match(text, '^(%x+)%-(%x+)%-(%x+)%-(%x+)%-(%x%x%x%x)(%x+)$')
    if not a or #text ~= 36 then return nil end
    return struct.pack('>I4I2I2I2I2I4', tonumber(a, 16), tonumber(b, 16), tonumber(c, 16), tonumber(d, 16),
        tonumber(e, 16), tonumber(f, 16))
end
