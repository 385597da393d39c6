import LiveActivity

/// The parts of a kept record, in its first two bytes, and the numbers of its format (`shared-kept.lua`).
struct KeptFlags: OptionSet {
    /// How many ms of ids a block holds. Each push that ends prolongs the life of its block.
    static let block: Int64 = 6 * 3_600_000
    /// How far from its id's time a push is accepted at most, ms. Others would lengthen the life of their blocks.
    static let late: Int64 = 3_600_000
    /// The zero of the time from its id to its acceptance.
    static let shift: Int64 = 1 << 23
    /// Most bytes of a record. A larger value would make the block a table (`hash-max-listpack-value`).
    static let most = 1_024
    /// The text around the content state in the payload of a `framed` record.
    static let frame = Platform.storedFrame

    let rawValue: UInt16
    static let low = KeptFlags(rawValue: 1)
    static let sup = KeptFlags(rawValue: 1 << 1)
    static let expiry = KeptFlags(rawValue: 1 << 2)
    static let once = KeptFlags(rawValue: 1 << 3)
    static let soft = KeptFlags(rawValue: 1 << 4)
    static let prev = KeptFlags(rawValue: 1 << 5)
    static let told = KeptFlags(rawValue: 1 << 6)
    static let tp = KeptFlags(rawValue: 1 << 7)
    static let by = KeptFlags(rawValue: 1 << 8)
    static let framed = KeptFlags(rawValue: 1 << 9)
    static let time = KeptFlags(rawValue: 1 << 10)
    static let some = KeptFlags(rawValue: 1 << 11)
    static let counts = KeptFlags(rawValue: 1 << 12)
    static let receipts = KeptFlags(rawValue: 1 << 13)
    /// A version after this one wrote the record.
    static let later = KeptFlags(rawValue: 1 << 14)

    private static let names = [
        ("LOW", low), ("SUP", sup), ("EXPIRY", expiry), ("ONCE", once), ("SOFT", soft), ("PREV", prev), ("TOLD", told),
        ("TP", tp), ("BY", by), ("FRAMED", framed), ("TIME", time), ("SOME", some), ("COUNTS", counts),
        ("RECEIPTS", receipts), ("LATER", later),
    ]

    /// The text of a script with the flags' numbers in place of their names, `KEPT_LOW` and so on. The names are no
    /// locals of Lua, because a script has 200 locals at most.
    static func written(into script: String) -> String {
        guard script.contains("KEPT_") else { return script }
        return names.reduce(script) { $0.replacing("KEPT_\($1.0)", with: "\($1.1.rawValue)") }
    }

    /// The other numbers as locals of Lua, apart from `ScriptNumbers` for the same reason.
    static let text = """
        local KEPT_BLOCK, KEPT_LATE, KEPT_SHIFT, KEPT_MOST = \(block), \(late), \(shift), \(most)
        -- The head of a record, its size, and the beginning and end of most payloads.
        local KEPT_HEAD, KEPT_SIZE = '>I2I3I3I4I4', 16
        local KEPT_FRAME, KEPT_FRAME_END = '\(frame.before)', '\(frame.after)'

        """
}
