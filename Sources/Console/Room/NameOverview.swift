import Answers
import LiveActivity
import StrictJSON

/// A name as it is now: the push that its cards show with its publisher, other pushes, and the pushes that wait.
struct NameOverview: Sendable {
    /// How many pushes are read.
    enum Depth {
        /// Up to the push that everybody has.
        case present
        /// All that a room shows.
        case timeline
    }

    /// The pushes of one page of a room.
    private static let most = 20

    let name: String
    /// Nil: nobody follows it, and no push went to it.
    let activity: ActivityAnswer?
    /// The attributes type of the name's cards: its own, or the type of the schema that fits best.
    let type: String?
    /// The newest first.
    private(set) var pushes: [SaidPush] = []
    private(set) var hasMore = false
    let waiting: [WaitingPush]

    /// - Throws: Redis that does not answer, as a `ConsoleFailure`
    init(
        _ name: String, _ visit: Visit, _ depth: Depth, _ contents: SaidPush.Contents = SaidPush.Contents()
    ) async throws {
        self.name = name
        activity = name.isEmpty ? nil : try await visit.activity(name)
        type = try await SchemaFields.type(of: name, activity, visit)
        guard !name.isEmpty else {
            waiting = []
            return
        }
        waiting = try await WaitingPush.all(visit, name)
        let query = Form.query(["limit": "\(Self.most)", "name": name])
        guard let history: HistoryAnswer = try await visit.allowed("/api/pushes", query: query) else { return }
        hasMore = history.next != nil
        for ledger in history.pushes {
            let push = SaidPush(ledger: ledger, content: try await contents.content(ledger.pushID, visit))
            pushes.append(push)
            if depth == .present, isShown(push) { break }
        }
    }

    var isKnown: Bool { activity != nil || !pushes.isEmpty || !waiting.isEmpty }

    private func isShown(_ push: SaidPush) -> Bool {
        !push.isTest && push.stands && push.isForEveryone && push.state != nil
    }

    /// The push whose state everybody's card shows. Nil: it is not kept, or there was none.
    var shown: SaidPush? { pushes.first(where: isShown) }

    /// The newer pushes that gave some devices something else, and tests.
    var elsewhere: [SaidPush] {
        pushes.prefix { !isShown($0) }.filter { $0.stands && $0.content != nil && ($0.isTest || !$0.isForEveryone) }
    }

    /// The newest push of the name that stands, as the precondition of a publish counts.
    var newest: NewestPushAnswer? { activity?.newestPush }

    /// The push of the last ten seconds that goes out next. The next publish is written after it.
    func isNext(_ now: Int64) -> WaitingPush? {
        waiting.last { $0.isSoon(now) && !$0.isConflict && $0.isForEveryone && $0.state != nil }
    }

    /// The value of `options.after` of a publish that is written now.
    func after(_ now: Int64) -> String { isNext(now)?.id ?? newest?.pushID ?? "none" }

    /// The name as a form knows it: its newest push, and whether this push still waits.
    func seen(_ now: Int64) -> String { isNext(now).map { "\($0.id) waits" } ?? after(now) }

    /// The state that the cards show.
    var shownState: JSONValue? {
        shown?.state ?? activity?.lastContentState?.contentState.value.map(Card.unmarked)
    }

    /// The state from which a publish is written now.
    func state(_ now: Int64) -> JSONValue? { isNext(now)?.state ?? shownState }

    /// The sender of the push that made the name what it is now, and its time, for the sentence about a change.
    func author(_ now: Int64) -> (who: String?, at: Int64?, event: String) {
        if let next = isNext(now) { return (next.who, next.due, next.event) }
        let by = newest?.by.map { Caller.text($0) }
        return (by, newest.flatMap { TimeText.parse($0.acceptedAt) }, newest?.event ?? "update")
    }
}
