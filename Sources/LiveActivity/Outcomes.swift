/// The outcome of a target. The raw values are the fields of a ledger, in the order of its equation.
public enum SettledField: String, Sendable, Hashable, CaseIterable {
    case delivered, pruned, failed, superseded, expired, skipped
}

/// How many targets a push has, or several pushes, and how many of them have which outcome. At every moment
/// `targets = delivered + pruned + failed + superseded + expired + skipped + pending`.
public struct Outcomes: Sendable, Hashable {
    public var targets: Int
    /// The counts without zeros, so that equal counts are equal.
    private var counts: [SettledField: Int]

    public init(targets: Int = 0, _ counts: [SettledField: Int] = [:]) {
        (self.targets, self.counts) = (targets, counts.filter { $0.value != 0 })
    }

    public subscript(outcome: SettledField) -> Int {
        get { counts[outcome, default: 0] }
        set { counts[outcome] = newValue == 0 ? nil : newValue }
    }

    public var delivered: Int { self[.delivered] }
    public var pruned: Int { self[.pruned] }
    public var failed: Int { self[.failed] }
    public var superseded: Int { self[.superseded] }
    public var expired: Int { self[.expired] }
    public var skipped: Int { self[.skipped] }
    public var settled: Int { counts.values.reduce(0, +) }
    public var pending: Int { targets - settled }

    public static func += (sum: inout Outcomes, other: Outcomes) {
        sum.targets += other.targets
        sum.counts.merge(other.counts, uniquingKeysWith: +)
    }

    public static func -= (sum: inout Outcomes, part: Outcomes) {
        sum.targets -= part.targets
        for (outcome, number) in part.counts { sum[outcome] -= number }
    }
}
