/// Actions of publishers, operators and devices beside updates, alerts, ends, starts and registrations.
enum Action: String, CaseIterable, Sendable {
    /// Ends without a state, ends right after an update, and a second end while tokens still follow.
    case ends
    /// Ends that are cancelled at once, so that the name goes on.
    case cancelledEnds = "cancelled-ends"
    /// Channels that register while an end for them is accepted.
    case crossings
    /// Channels whose next card registers right after the 202 of an end. The end is not for that card.
    case newCards = "new-cards"
    /// Names with a broadcast channel, and faults of broadcasts and of channel management.
    case broadcasts
    /// Updates that wait for their time. Some are replaced or deleted before it.
    case schedules
    /// Updates that wait for a time at which their name ends or starts.
    case scheduleRaces = "schedule-races"
    /// Pushes that APNs refuses for a while as if for good. They are retried or dropped afterwards.
    case refusals
    /// Updates and alerts that are cancelled while they are sent.
    case cancels
    /// Updates that expire while APNs accepts nothing.
    case expiries
    /// Devices whose clocks are minutes behind.
    case clocks
    /// Names that begin with a combining character, or hold braces and percent signs.
    case names

    /// All actions. Remove one here while the system does not meet its demands.
    static let usual = Set(allCases)

    /// Reads `all`, `none`, `usual`, or a list such as `ends,clocks`. Nil for an unknown word.
    static func parse(_ text: String) -> Set<Action>? {
        switch text {
        case "all": return Set(allCases)
        case "none": return []
        case "usual": return usual
        default:
            let actions = text.split(separator: ",").map { Action(rawValue: String($0)) }
            return actions.contains(nil) ? nil : Set(actions.compactMap(\.self))
        }
    }

    static func text(_ actions: Set<Action>) -> String {
        if actions == usual { return "usual" }
        return actions.isEmpty ? "none" : allCases.filter(actions.contains).map(\.rawValue).joined(separator: ",")
    }
}

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

    /// The beginning of these living tokens, as hex.
    static func prefix(name: Int, places: Int?) -> String {
        let name = String(name, radix: 16)
        let zeros = places.map { $0 == 16 ? 7 : 6 } ?? 0
        return "11" + String(repeating: "0", count: 4 - name.count) + name + String(repeating: "0", count: zeros)
    }
}
