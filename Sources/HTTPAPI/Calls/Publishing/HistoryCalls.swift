import Answers
import LiveActivity
import Store
import StrictJSON

extension Handlers {
    /// `GET /api/pushes`: ledgers, newest first, of the app or of one name.
    func listPushes(_ call: Call) async throws -> Answer {
        let limit = try call.limit()
        let filter = try pushFilter(call)
        if call.query["name"] == nil { try call.checkAllNames() } else { try call.check(call.queriedName()) }
        let app = call.app.key
        if call.query["name"] != nil {
            let after = try call.query["after"] == nil ? nil : call.id("after", in: call.query)
            let page = try await store.pushes.history(
                app, of: call.queriedName(), filter, after: after, limit: limit)
            return Self.page(page.pushes, total: nil, next: page.next?.description)
        }
        let after = try call.position()
        let page = try await store.pushes.history(app, filter, after: after, limit: limit)
        let isFirst = after == nil && filter == PushFilter()
        let total = isFirst ? try await store.pushes.kept(app) : nil
        return Self.page(page.pushes, total: total, next: page.next?.description)
    }

    /// `GET /api/pushes/sums`: ledgers added up by day or by name. A call reads a bounded part of the history.
    func sumPushes(_ call: Call) async throws -> Answer {
        let most = try call.number(
            "limit", "a whole number", in: 1...Pushes.mostCounted, default: Pushes.mostCounted)
        guard let group = PushSums.Group(rawValue: call.query["by"] ?? PushSums.Group.day.rawValue) else {
            throw APIError.parameter("by", "must be day or name")
        }
        let filter = try pushFilter(call)
        if call.query["name"] == nil { try call.checkAllNames() } else { try call.check(call.queriedName()) }
        let app = call.app.key
        if call.query["name"] != nil {
            let after = try call.query["after"] == nil ? nil : call.id("after", in: call.query)
            let (sums, next) = try await store.pushes.sums(
                app, of: call.queriedName(), by: group, filter, after: after, most: most)
            return Self.page(sums, by: group, next: next?.description)
        }
        let (sums, next) = try await store.pushes.sums(
            app, by: group, filter, after: call.position(), most: most)
        return Self.page(sums, by: group, next: next?.description)
    }

    private static func page(_ sums: PushSums, by group: PushSums.Group, next: String?) -> Answer {
        let rows = sums.rows.map { key, sum in
            PushSumAnswer(
                day: group == .day ? key : nil, name: group == .name ? key : nil, pushes: sum.pushes,
                targets: sum.targets, delivered: sum[.delivered], pruned: sum[.pruned], failed: sum[.failed],
                superseded: sum[.superseded], expired: sum[.expired], skipped: sum[.skipped], pending: sum.pending)
        }
        return Answer(200, PushSumsAnswer(by: group.rawValue, sums: rows, next: next))
    }

    /// Which channels a push did not light, and why, as far as they are kept.
    func pushChannels(_ call: Call) async throws -> Answer {
        let id = try call.id("push_id")
        guard let channels = try await store.deadLetters.channels(call.app.key, of: id) else {
            throw APIError.noSuchPush
        }
        let rows = channels.map { channel in
            UnlitChannelAnswer(
                channelID: channel.channel.description, outcome: channel.outcome.rawValue, reason: channel.reason)
        }
        return Answer(200, UnlitChannelsAnswer(pushID: id.description, channels: rows))
    }

    private static func page(_ pushes: [Ledger], total: Int?, next: String?) -> Answer {
        Answer(200, HistoryAnswer(total: total, pushes: pushes.map(\.withPublisher), next: next))
    }

    private func pushFilter(_ call: Call) throws(APIError) -> PushFilter {
        var filter = PushFilter()
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

    fileprivate func queriedName() throws(APIError) -> ActivityName {
        do throws(IdentifierError) {
            return try ActivityName(query["name"] ?? "")
        } catch {
            throw .parameter("name", "must be \(error.rule)")
        }
    }
}

extension Ledger {
    /// The ledger with who published the push, which outgoing events do not tell.
    var withPublisher: LedgerAnswer {
        var body = answer
        body.by = publisher.map { PublisherAnswer(credential: $0.credential, address: $0.address) }
        return body
    }
}

extension Audience {
    /// In the form of a publish.
    var answer: RawJSON { RawJSON(checked: json.bytes) }

    private var json: JSON {
        switch self {
        case .all: "all"
        case .tag(let tag, let group): ["tag": .string(tag), "group": .string(group)]
        case .channel(let id): ["ios_channel": .string(id.description)]
        case .namedUser(let user): ["named_user": .string(user)]
        case .or(let parts): ["or": .array(parts.map(\.json))]
        case .and(let parts): ["and": .array(parts.map(\.json))]
        case .not(let part): ["not": part.json]
        }
    }
}
