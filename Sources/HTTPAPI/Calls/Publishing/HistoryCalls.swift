import Answers
import LiveActivity
import Store
import StrictJSON

/// The pushes of an app, as far as they are kept.
struct HistoryCalls: CallGroup {
    private let pushes: Pushes

    init(_ parts: GatewayParts) { pushes = parts.store.pushes }

    /// `GET /api/pushes`: ledgers, newest first, of the app or of one name.
    func list(_ call: Call) async throws -> Answer {
        let (limit, filter, name) = (try call.limit(), try filter(call), try call.queriedName())
        let app = call.app.key
        if let name {
            let page = try await pushes.history(app, of: name, filter, after: call.queriedID("after"), limit: limit)
            return Self.page(page.pushes, total: nil, next: page.next?.description)
        }
        let after = try call.position()
        let page = try await pushes.history(app, filter, after: after, limit: limit)
        let isFirst = after == nil && filter == PushFilter()
        let total = isFirst ? try await pushes.kept(app) : nil
        return Self.page(page.pushes, total: total, next: page.next?.description)
    }

    private static func page(_ pushes: [Ledger], total: Int?, next: String?) -> Answer {
        Answer(200, HistoryAnswer(total: total, pushes: pushes.map(\.withPublisher), next: next))
    }

    private func filter(_ call: Call) throws(APIError) -> PushFilter {
        var filter = PushFilter()
        filter.namePrefix = call.namePrefix
        filter.states = try call.words("state", PushState.allCases.map(\.rawValue), PushState.init(rawValue:))
        filter.events = try call.words("event", ["start", "update", "end"], ActivityEvent.init(rawValue:))
        if let from = try call.time("from") { filter.from = from }
        if let to = try call.time("to") { filter.to = to }
        return filter
    }
}

extension Call {
    /// The `after` of an app's history.
    fileprivate func position() throws(APIError) -> HistoryPosition? {
        guard let text = query["after"] else { return nil }
        if let position = HistoryPosition(text) { return position }
        throw .parameter("after", "must be the `next` of an earlier page")
    }

    /// The name that the query asks for. Nil: all names.
    func queriedName() throws(APIError) -> ActivityName? {
        guard let text = query["name"] else { return nil }
        let name = try identified("name", ActivityName.init(_:), of: text)
        try check(name)
        return name
    }
}
