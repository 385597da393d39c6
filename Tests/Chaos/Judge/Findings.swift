import Synchronization

/// The kinds of errors that a run can find, in the order of the table.
enum Finding: String, CaseIterable, Sendable {
    case lost = "lost final states"
    case endLost = "ends that did not arrive"
    case startLost = "starts that did not arrive"
    case startLate = "starts sent after the end"
    case startTwice = "starts of a name that would make another card"
    case backwards = "backwards on the wire"
    case afterEnd = "sent after the end"
    case endedAnew = "new followers ended by an end before them"
    case broadcastLost = "broadcasts that did not arrive"
    case broadcastOrder = "broadcasts behind a newer one, or behind the end"
    case broadcastChannels = "broadcast channels that are missing, or that nobody owns"
    case wronglyPruned = "living tokens that were pruned"
    case neverPruned = "dead tokens that were kept"
    case unwanted = "sent to those that were gone, or not in its audience"
    case revived = "gone tokens that came back"
    case endIgnored = "publishes to an ended name that were taken"
    case refused = "publishes and registrations that were refused"
    case schedules = "schedules that were not sent, or though they were deleted"
    case deadLetters = "dead letters whose retry missed somebody"
    case atRest = "keys that should be gone at rest"
    case keys = "idempotency keys that led elsewhere"
    case ledgers = "ledgers that do not add up, or never ended"
    case duplicates = "duplicates beyond what deaths explain"
    case crashed = "processes that ended by themselves"
    case undecided = "calls without an answer, and other things that stuck"
}

final class Findings: Sendable {
    private static let kept = 200

    private struct Found {
        var count = 0
        var texts: [String] = []
    }
    private let found = Mutex<[Finding: Found]>([:])

    func note(_ finding: Finding, _ text: @autoclosure () -> String) {
        found.withLock { found in
            found[finding, default: Found()].count += 1
            if found[finding, default: Found()].texts.count < Self.kept { found[finding]?.texts.append(text()) }
        }
    }

    func count(_ finding: Finding) -> Int { found.withLock { $0[finding]?.count ?? 0 } }
    func texts(_ finding: Finding) -> [String] { found.withLock { $0[finding]?.texts ?? [] } }
    var isEmpty: Bool { found.withLock { $0.isEmpty } }
}
