/// Actions of publishers, operators and devices beside updates, alerts, ends, starts and registrations.
enum Action: String, CaseIterable, Sendable {
    /// Ends without a state, ends right after an update, and a second end while tokens still follow.
    case ends
    /// Ends that are cancelled at once or some seconds later, so that the name goes on.
    case cancelledEnds = "cancelled-ends"
    /// Channels that register while an end for them is accepted.
    case crossings
    /// Channels whose next card registers right after the 202 of an end. The end is not for that card.
    case newCards = "new-cards"
    /// Names with a broadcast channel, and faults of broadcasts and of channel management.
    case broadcasts
    /// Updates that wait for their time. Some are replaced or deleted before it.
    case schedules
    /// Schedules whose call is repeated after some of them were replaced or deleted.
    case scheduleRepeats = "schedule-repeats"
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
    /// Some phones of a name, up to a fifth, are silent for seconds: APNs answers no request for them.
    case silences
    /// Phones that come back: one SDK batch with a card that began and ended meanwhile, and the one that runs now.
    case batches
    /// Channels that are forgotten and register again.
    case forgets
    /// The machine clocks of gateways and workers step, by up to an hour both ways.
    case processClocks = "process-clocks"
    /// In some runs the machine clocks of Redis servers step, by up to half a minute both ways.
    case redisClocks = "redis-clocks"
    /// In some runs the app has a cap: a few thousand tokens a second.
    case caps
    /// Phones on Android, on names of their own and beside devices on iOS, and faults of FCM.
    case android
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
