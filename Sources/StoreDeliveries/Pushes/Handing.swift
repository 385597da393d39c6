import LiveActivity

/// How workers begin pushes. With it, the acceptance of a small name's only push begins that push, and hands it to the
/// worker that reads its stream entry (`shared-handed.lua`). All processes of a deployment should agree.
public struct Handing: Sendable, Hashable {
    /// The least time between a name's updates. Zero: no pacing.
    public var minInterval: Duration
    /// How long the worker that reads the entry has the push.
    public var lease: Duration
    public var budget: HighBudget

    public init(minInterval: Duration, lease: Duration, budget: HighBudget) {
        (self.minInterval, self.lease, self.budget) = (minInterval, lease, budget)
    }

    /// As `push-accept` reads it.
    var stored: String { "\(minInterval.milliseconds) \(lease.milliseconds) \(budget.perHour)" }
}
