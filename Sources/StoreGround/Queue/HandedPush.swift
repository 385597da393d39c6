import LiveActivity

/// A lone push that its acceptance has begun, and handed to the worker that reads its stream entry. The entry has the
/// push and the name's tokens, so that worker sends without a question (`shared-handed.lua`).
public struct HandedPush: Sendable, Hashable {
    /// How old an entry may be (ms, by Redis's clock) whose worker sends at once. Others begin the push anew.
    package static let life: Int64 = 1_000
    /// How far ahead of this worker's measure of Redis's clock the entry's time may lie, ms.
    private static let ahead: Int64 = 100
    /// How much earlier than in Redis the lease ends here, ms, because this worker did not ask for it.
    private static let margin = ScriptNumbers.clockError.milliseconds
    /// The epoch of its lease. The entry is the owner.
    package static let epoch = 1
    private static let plain = WorkItem.fieldCount

    package let lone: LonePush
    /// Channels and records in turns, as `HRANDFIELD … WITHVALUES` gives them.
    package let tokens: Reply
    /// How long the lease lasts from the acceptance, ms.
    package let lease: Int64

    /// Reads an entry's fields. Nil: the entry is an ordinary one.
    init?(_ fields: Reply) {
        guard fields.count >= Self.plain + 4, (try? fields[Self.plain].string()) == "l",
            (try? fields[Self.plain + 2].string()) == "m",
            let lease = try? fields[Self.plain + 1].time(), let text = try? fields[Self.plain + 3].bytes(),
            let lone = LonePush(text, isSent: true)
        else { return nil }
        (self.lone, self.lease) = (lone, lease)
        tokens = fields.part(Self.plain + 4..<fields.count)
    }

    /// For how much longer the worker that read the entry first has the push, ms. Nil: the entry is too old, or its
    /// time lies ahead, because Redis's clock was set.
    /// - Parameters:
    ///   - entry: the entry's id, which begins with Redis's time of the acceptance
    ///   - now: Redis's time, epoch ms
    public func left(entry: String, now: Int64) -> Int64? {
        guard let time = entry.split(separator: "-").first.flatMap({ StoredNumber.read(String($0)) }) else {
            return nil
        }
        let age = now - Int64(time)
        let left = lease - max(0, age) - Self.margin
        return (-Self.ahead...Self.life).contains(age) && left > 0 ? left : nil
    }

    // An entry is told by its place.
    public static func == (one: HandedPush, other: HandedPush) -> Bool { one.lone.id == other.lone.id }
    public func hash(into hasher: inout Hasher) { hasher.combine(lone.id) }
}
