public import LiveActivity

/// The ledgers of several pushes, added up.
public struct PushSum: Sendable, Hashable {
    public var pushes = 0
    public var outcomes = Outcomes()

    public init() {}

    package static func += (sum: inout PushSum, other: PushSum) {
        sum.pushes += other.pushes
        sum.outcomes += other.outcomes
    }
}

/// Sums of the pushes of each day, or of each name.
public struct PushSums: Sendable {
    public enum Group: String, Sendable, Hashable, CaseIterable {
        /// The day of acceptance, in UTC.
        case day
        case name
    }

    package let group: Group
    private var sums: [ExactText: PushSum] = [:]

    init(by group: Group) { self.group = group }

    package mutating func add(_ push: CountedPush) {
        let key =
            switch group {
            case .day: String(TimeText.plainText(push.createdAt).prefix(10))
            case .name: push.name.rawValue
            }
        sums[ExactText(key), default: PushSum()] += push.sum
    }

    /// Days, the newest first; names in byte order.
    public var rows: [(key: String, sum: PushSum)] {
        let sorted = sums.sorted { group == .day ? $1.key < $0.key : $0.key < $1.key }
        return sorted.map { ($0.key.description, $0.value) }
    }
}

/// The part of a push that a sum needs.
package struct CountedPush {
    var name: ActivityName
    var state: PushState
    var event: ActivityEvent
    /// Epoch milliseconds.
    var createdAt: Int64
    var sum: PushSum
}
