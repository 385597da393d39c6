/// The way in which one publish of the plan is made.
enum PublishVariant: Sendable {
    case plain
    /// Cancelled this many milliseconds after its 202. An update for all follows at once.
    case cancelled(after: Int)
    /// Replaced by several updates, each at its own time.
    case scheduled([Scheduled])
    /// APNs refuses the push for tokens with a certain beginning. Afterwards it is retried or dropped.
    case refused(Refusal)
    /// Two updates while APNs accepts nothing. The second one expires this many seconds after its 202, and APNs still
    /// accepts nothing then.
    case expiring(seconds: Int)
    /// A start. An update of its name waits for a time this many milliseconds after it, or before it if negative.
    case besideSchedule(due: Int)
}

/// One update that waits for its time.
struct Scheduled: Sendable {
    enum Change: Sendable {
        case none
        /// Created for a later time with another state, and then replaced.
        case replaced
        /// Created for a later time, and then deleted.
        case deleted
        /// Deleted at about its time. The response tells whether it is sent.
        case deletedLate(by: Int)
    }
    /// Milliseconds after the first one.
    var delay: Int
    var change: Change
}

struct Refusal: Sendable {
    var reason: String
    /// Tokens of the places 0 to 15 or 0 to 255 are refused. Nil means all.
    var places: Int?
    var isDropped: Bool

}
