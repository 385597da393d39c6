/// What publishers, operators and devices do besides updates, alerts, ends, starts and registrations.
enum Action: String, CaseIterable, Sendable {
    /// Ends without a state, ends right behind an update, and a second end while tokens follow.
    case ends
    /// Ends that are cancelled at once: the name goes on.
    case cancelledEnds = "cancelled-ends"
    /// Channels that register while an end for them is accepted.
    case crossings
    /// Updates that wait for their times, some replaced or deleted before.
    case schedules
    /// Pushes that APNs refuses for good for a while, and that are retried or dropped afterwards.
    case refusals
    /// Updates and alerts that are cancelled while they are sent.
    case cancels
    /// Updates that expire while APNs is away.
    case expiries
    /// Devices whose clocks are minutes behind.
    case clocks
    /// Names that begin with a combining character, or hold braces and percent signs.
    case names

    /// All of them. An action whose demands are not kept yet is left out here.
    static let usual = Set(allCases)

    /// `all`, `none`, `usual`, or a list such as `ends,clocks`. Nil: an unknown word.
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

/// How one publish of the plan is made.
enum Act: Sendable {
    case plain
    /// Cancelled so many milliseconds after its 202. An update for all follows at once.
    case cancelled(after: Int)
    /// Several updates in its place, each at its time.
    case scheduled([Scheduled])
    /// APNs refuses it for tokens that begin so. It is retried once that is over, or dropped.
    case refused(Refusal)
    /// After an update that APNs does not take: another one, which expires so many seconds after its 202 while APNs is away.
    case expiring(seconds: Int)
}

/// One update that waits for its time.
struct Scheduled: Sendable {
    enum Change: Sendable {
        case none
        /// Made for a later time with another state, then replaced.
        case replaced
        /// Made for a later time, then deleted.
        case deleted
        /// Deleted about when its time comes: it is sent or it is not, as the answer says.
        case deletedLate(by: Int)
    }
    /// Milliseconds behind the first one.
    var delay: Int
    var change: Change
}

struct Refusal: Sendable {
    var reason: String
    /// Places from 0 on whose tokens are refused: 16 or 256 of them; nil: all.
    var places: Int?
    var isDropped: Bool

    /// Of the living tokens, as hex.
    static func prefix(name: Int, places: Int?) -> String {
        let name = String(name, radix: 16)
        let zeros = places.map { $0 == 16 ? 7 : 6 } ?? 0
        return "11" + String(repeating: "0", count: 4 - name.count) + name + String(repeating: "0", count: zeros)
    }
}
