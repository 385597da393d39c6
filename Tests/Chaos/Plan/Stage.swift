/// Publishes and registrations of a stage run side by side, and its end waits for both.
struct Stage: Sendable {
    var publishes: [Planned<Publish>] = []
    var registrations: [Planned<Registrations>] = []
    var end: Planned<End>?
}

struct Publish: Sendable {
    var audience: Audience
    var priority = 10
    var hasAlert = false
    var mayBeReplaced = true
    /// Whether it is sent once more after its 202, with the same key.
    var isRepeated = false
    var isStart = false
    var variant = PublishVariant.plain
}

enum Audience: Sendable, Hashable {
    case all, tagA, tagB, both, either, notA
    /// One channel, by its place in the name's pool.
    case channel(Int)
}

enum Registrations: Sendable {
    case track(Int), rotate(Int), untrack(Int)
    /// Repeats old registrations of tokens that were replaced or removed meanwhile.
    case late(Int)
    /// Phones that were offline send one SDK batch.
    case batch(Int)
    case forget(Int)
}

/// An `end` for all or for channels with a tag, and which channels follow afterwards.
struct End: Sendable {
    var audience: Audience
    /// Whether an update for the ended name is tried, which must be refused.
    var isTested: Bool
    /// Other channels begin to follow at once, or the same ones begin when the end has arrived.
    var reopens: Reopening
    /// For a name whose cards pushes create: whether to wait until its starts are over, so that the end overtakes none.
    var waits = false
    var isStateless = false
    /// Whether an update for all is accepted right before it.
    var followsUpdate = false
    /// Whether a second end follows at once. It must be accepted while tokens follow.
    var isRepeated = false
    /// How many channels register while it is accepted.
    var crossing = 0
    /// How many channels register their next card this many milliseconds after its 202.
    var newCards = 0
    var newCardsAfter = 0
    /// An update waits for a time this many milliseconds after the end is sent, or before it if negative.
    var scheduleDue: Int?
    /// The milliseconds after its 202 at which it is cancelled. The name then goes on, unless the end was over before.
    var cancelledAfter: Int?

    enum Reopening: Sendable { case never, others, same }
}
