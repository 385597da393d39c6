public import LiveActivity
import StoreGround

/// A name that a worker has claimed, to end some of its cards.
public struct EndTask: Sendable, Hashable {
    public let app: AppKey
    public let name: ActivityName
    /// Cards that started at this time (epoch ms) or before are to be ended. A later owner keeps it.
    public let cutoff: Int64
}

extension EndTask {
    /// Reads `<cutoff> <name>`. The name comes last because it may contain spaces.
    init?(app: AppKey, member: String) {
        guard let parts = member.cut(at: UInt8(ascii: " ")), let cutoff = StoredNumber.read(parts.head),
            let name = try? ActivityName(parts.tail)
        else { return nil }
        self.init(app: app, name: name, cutoff: Int64(cutoff))
    }

    var member: String { "\(cutoff) \(name)" }

    /// The automatic end. Priority 5, because no user waits for it.
    public var publish: Publish {
        Publish(
            name: name, event: .end, audience: .all, priority: .low,
            options: PublishOptions(expiry: EndRule.expiry(cutoff: cutoff)))
    }
}
