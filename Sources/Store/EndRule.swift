public import LiveActivity

/// When an app's cards are ended by themselves.
public struct EndRule: Sendable, Hashable {
    /// From a card's start; more than zero.
    public let after: Duration

    public init(after: Duration) { self.after = after }

    /// A card is ended up to this much before its time together with others of its name, so that a name whose cards start one
    /// after the other is not read and swept for each. Milliseconds.
    var slack: Int64 { min(300_000, after.milliseconds / 10) }

    /// So many milliseconds before a look its cards started, or longer ago, to be ended by it.
    var age: Int64 { after.milliseconds - slack }

    /// After that time (epoch seconds) iOS has ended each of the cards itself, and takes nothing for them any more.
    static func expiry(cutoff: Int64) -> Int { Int((cutoff + LateFollowers.life.milliseconds) / 1_000) }
}

/// The cards of a name, as a look at it counts them.
struct CardCount: Sendable, Hashable {
    let cutoff: Int64
    /// Started at the cutoff or before.
    private(set) var due = 0
    /// When the first of the others started, epoch ms; nil: there is none.
    private(set) var nextStart: Int64?

    init(cutoff: Int64) { self.cutoff = cutoff }

    mutating func add(startedAt: Int64) {
        if startedAt <= cutoff {
            due += 1
        } else {
            nextStart = min(nextStart ?? .max, startedAt)
        }
    }
}

/// A name that a worker has in hand, to end some of its cards.
public struct EndTask: Sendable, Hashable {
    public let app: AppKey
    public let name: ActivityName
    /// Cards that started then (epoch ms) or before are to be ended: the same for whoever takes the name over.
    public let cutoff: Int64

    init(app: AppKey, name: ActivityName, cutoff: Int64) {
        self.app = app
        self.name = name
        self.cutoff = cutoff
    }

    /// `<cutoff> <name>`; the name comes last, since it may hold anything.
    init?(app: AppKey, member: String) {
        guard let parts = member.cut(at: UInt8(ascii: " ")), let cutoff = Int64(parts.head),
            let name = try? ActivityName(parts.tail)
        else { return nil }
        self.init(app: app, name: name, cutoff: cutoff)
    }

    var member: String { "\(cutoff) \(name)" }

    /// What ends them. Nobody waits for it: priority 5.
    public var publish: Publish {
        Publish(
            name: name, event: .end, audience: .all, priority: .low,
            options: PublishOptions(expiry: EndRule.expiry(cutoff: cutoff)))
    }
}
