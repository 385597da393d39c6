import LiveActivity

/// The age at which an app's cards are ended automatically.
public struct EndRule: Sendable, Hashable {
    /// Counted from a card's start; more than zero.
    public let after: Duration

    public init(after: Duration) { self.after = after }
    /// A card may be ended this many ms early, with others of its name. Otherwise a name would be swept for each card.
    var slack: Int64 { min(300_000, after.milliseconds / 10) }
    /// A look ends the cards that started this many milliseconds before it, or earlier.
    package var age: Int64 { after.milliseconds - slack }
    /// After this time (epoch seconds) iOS has ended each card itself, and cards accept no push any more.
    static func expiry(cutoff: Int64) -> Int { Int((cutoff + LateJoiners.life.milliseconds) / 1_000) }
}

/// The number of a name's cards, as one look counts them.
struct CardCount: Sendable, Hashable {
    let cutoff: Int64
    /// Cards that started at the cutoff or before.
    private(set) var due = 0
    /// Start of the first other card, epoch ms; nil: there is none.
    private(set) var nextStart: Int64?

    init(cutoff: Int64) { self.cutoff = cutoff }

    mutating func add(startedAt: Int64) {
        if startedAt <= cutoff { due += 1 } else { nextStart = min(nextStart ?? .max, startedAt) }
    }
}
