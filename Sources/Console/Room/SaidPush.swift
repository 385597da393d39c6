import Answers
import LiveActivity
import StrictJSON
import Synchronization

extension ContentAnswer {
    /// Whether the push is for everyone, on all platforms of the app.
    var isForEveryone: Bool { deviceTypes == nil && (try? audience.value?.string()) == "all" }
}

/// A push of a name, with what it said and to whom.
struct SaidPush: Sendable {
    let ledger: LedgerAnswer
    /// Nil: it is not kept any more.
    let content: ContentAnswer?

    /// A test send is for one device, and is never the state of a name.
    var isTest: Bool { ledger.test == true }
    var isForEveryone: Bool { content?.isForEveryone ?? false }
    /// Whether cards show it: a push that was stopped before it reached anybody leaves them as they were.
    var stands: Bool {
        guard ["cancelled", "failed", "expired"].contains(ledger.state) else { return true }
        return ledger.delivered > 0 || ledger.broadcast?.state == "delivered"
    }
    private var aps: JSONObject? { content?.payload.object?.object("aps") }
    var state: JSONValue? { aps?["content-state"].map(Card.unmarked) }
    var alert: JSONObject? { aps?.object("alert") }
    /// The score, or what else its state says first.
    var headline: String? { state.flatMap(Card.headline) }
    /// The score and the alert, for a row of a list: `2 : 0 · Tor!`. Nil: there is neither.
    static func words(state: JSONValue?, alert: JSONObject?) -> String? {
        let parts = [state.flatMap(Card.headline), alert.flatMap(Card.alertTitle)].compactMap(\.self)
        return parts.isEmpty ? nil : parts.joined(separator: " · ")
    }

    /// The words of a push as somebody posted it.
    static func words(_ push: RawJSON?) -> String? {
        let activity = push?.object?.liveActivity
        return words(state: activity?["content_state"], alert: activity?.object("alert"))
    }

    /// The words of the pushes of a list, by id.
    static func words(
        _ pushes: [String], _ visit: Visit, _ contents: Contents = Contents()
    ) async -> [String: String] {
        var found: [String: String] = [:]
        await withTaskGroup(of: (String, String?).self) { group in
            for (index, id) in pushes.enumerated() {
                if index >= atOnce, let (id, words) = await group.next() { found[id] = words }
                group.addTask {
                    let aps = try? await contents.content(id, visit)?.payload.object?.object("aps")
                    return (id, words(state: aps?["content-state"].map(Card.unmarked), alert: aps?.object("alert")))
                }
            }
            for await (id, words) in group { found[id] = words }
        }
        return found
    }

    private static let atOnce = 8

    var who: String? { ledger.by.map { Caller.text($0) } }
    var path: String { "/console/pushes/\(ledger.pushID)" }

    /// The contents of the pushes of a page. A content never changes, so a live part reads each one once.
    final class Contents: Sendable {
        /// The most that a live part shows, and some that left it.
        private static let most = 60
        private let known = Mutex<[String: ContentAnswer]>([:])

        func content(_ id: String, _ visit: Visit) async throws -> ContentAnswer? {
            if let found = known.withLock({ $0[id] }) { return found }
            let found: ContentAnswer? = try await visit.allowed("/api/push/\(Form.encoded(id))/content")
            if let found {
                known.withLock {
                    if $0.count >= Self.most { $0 = [:] }
                    $0[id] = found
                }
            }
            return found
        }
    }
}
