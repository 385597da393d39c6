public import LiveActivity
import Redis
public import StoreGround

/// Which pushes of an app are wanted.
public struct PushFilter: Sendable, Hashable {
    public var states: Set<PushState> = []
    public var events: Set<ActivityEvent> = []
    /// Times of acceptance, epoch ms: from the first one on, and before the second one.
    public var from: Int64 = 0
    public var to: Int64 = .max
    /// Only names that begin so. Nil: all. The history of one name does not look at it.
    public var namePrefix: String?

    public init() {}

    package func includes(_ ledger: Ledger) -> Bool { includes(ledger.state, ledger.event, ledger.createdAt) }

    package func includes(_ state: PushState, _ event: ActivityEvent, _ createdAt: Int64) -> Bool {
        (states.isEmpty || states.contains(state)) && (events.isEmpty || events.contains(event))
            && (from..<max(from, to)).contains(createdAt)
    }
}

/// Where a page of the history ended.
public struct HistoryPosition: Sendable, Hashable, CustomStringConvertible {
    var hour: Int64
    package var push: PushID

    /// A place just before this one that does not tell the push's id: it may be of a name that the caller may not see.
    /// The place keeps enough of the id that hardly any other push lies between.
    var veiled: HistoryPosition {
        let id = UUIDBytes(high: push.uuid.high, low: push.uuid.low | (1 << 40 - 1))
        return HistoryPosition(hour: hour, push: PushID(id))
    }

    public var description: String { "\(hour).\(push)" }
    init(hour: Int64, push: PushID) { (self.hour, self.push) = (hour, push) }

    public init?(_ text: String) {
        guard let parts = text.cut(at: UInt8(ascii: ".")), let hour = Int64(parts.head), hour >= 0,
            let push = PushID(parts.tail)
        else { return nil }
        self.init(hour: hour, push: push)
    }
}

/// How far a call about some names goes among the entries of others. These are read, and not their pushes.
public struct NamePass: Sendable {
    package var (most, atOnce) = (50_000, 1_000)

    public init() {}
}

public struct HistoryPage: Sendable {
    public var pushes: [Ledger] = []
    /// Where the next page begins. Nil on the last page. A page may be short, or empty, and still have a next one.
    public var next: HistoryPosition?
}

extension Pushes {
    /// Ledgers that one call reads at most, whatever is asked for.
    private static let mostRead = 400

    /// The pushes of an app that are still kept, newest first, in the order of their ids, so of their requests.
    /// - Parameters:
    ///   - position: where the last page ended. Nil begins with the newest push.
    ///   - limit: most pushes of the page.
    ///   - pass: entries of other names that a call about some names passes, and how many it reads at once.
    public func history(
        _ app: AppKey, _ filter: PushFilter, after position: HistoryPosition?, limit: Int, pass: NamePass = NamePass()
    ) async throws(StoreError) -> HistoryPage {
        let now = time.now()
        var walk = HistoryWalk(
            index, app, from: max(now - keys.retention, filter.from), to: min(latest(now), filter.to), after: position,
            step: filter.namePrefix == nil ? limit : pass.atOnce)
        var page = HistoryPage()
        var (read, passed) = (0, 0)
        var last: HistoryPosition?
        while true {
            let entries = try await walk.next()
            guard let end = entries.last else { return page }
            let own = entries.filter { $0.name.begins(with: filter.namePrefix) }
            for part in own.parts(of: limit) {
                for (entry, (ledger, _)) in zip(part, try await ledgers(app, part.map { ($0.id, $0.name) })) {
                    read += 1
                    if let ledger, filter.includes(ledger), Self.shows(ledger.id, ledger.createdAt, in: entry.hour) {
                        page.pushes.append(ledger)
                        last = entry.position
                    }
                    if page.pushes.count == limit || read >= Self.mostRead {
                        page.next = entry.position
                        return page
                    }
                }
            }
            passed += entries.count - own.count
            if passed >= pass.most {
                page.next = last ?? end.position.veiled
                return page
            }
        }
    }

    /// The latest time at which a push may have been accepted: later than now if Redis's clock was set back since.
    package func latest(_ now: Int64) -> Int64 { now + (time.step?.by ?? 0) }

    /// A push that was accepted long after its id was made is in two hours, and shown in the hour of its acceptance.
    /// Each other push is shown in the hour of its id alone: a publish that is repeated later notes it once more.
    package static func shows(_ id: PushID, _ createdAt: Int64, in hour: Int64) -> Bool {
        (PushIndex.isLate(id, acceptedAt: createdAt) ? createdAt : id.uuid.time) / PushIndex.hour == hour
    }

    /// A name's pushes that are still kept, newest first, in the order of their acceptance.
    /// - Parameter push: the last one of the page before.
    public func history(
        _ app: AppKey, of name: ActivityName, _ filter: PushFilter, after push: PushID?, limit: Int
    ) async throws(StoreError) -> (pushes: [Ledger], next: PushID?) {
        var (found, read, last) = ([Ledger](), 0, push)
        while read < Self.mostRead {
            let ids = try await chain(app, name, before: last, limit: limit)
            if ids.isEmpty { return (found, nil) }
            for (ledger, id) in try await ledgers(app, ids.map { ($0, name) }) {
                (read, last) = (read + 1, id)
                if let ledger, filter.includes(ledger) { found.append(ledger) }
                if found.count == limit { return (found, id) }
                if let ledger, ledger.createdAt < filter.from { return (found, nil) }
            }
        }
        return (found, last)
    }

    /// A name's pushes before `push`, or from the last one on, newest first.
    func chain(
        _ app: AppKey, _ name: ActivityName, before push: PushID?, limit: Int
    ) async throws(StoreError) -> [PushID] {
        let tag = keys.tag(app, name)
        let reply = try await redis.run(
            Lua.pushChain, keys: ["n": keys.name(tag)],
            ["from": .string(push?.description ?? ""), "most": .int(limit), "ps": .string(keys.pushPrefix(tag))])
        return try reply.strings().compactMap { PushID($0) }
    }

    /// A push with its audience and its content. Nil if the app has no such push.
    public func content(_ app: AppKey, _ id: PushID) async throws(StoreError) -> PresentPush? {
        guard let name = try await name(of: id, app) else { return nil }
        return try await push(app, name, id)
    }

    /// How many pushes of the app are kept. Schedules that were sent count twice.
    public func kept(_ app: AppKey) async throws(StoreError) -> Int {
        let now = time.now()
        return try await kept(app, since: now - keys.retention, now: now)
    }

    /// How many pushes are kept in the hours from `oldest` on, epoch ms.
    func kept(_ app: AppKey, since oldest: Int64, now: Int64) async throws(StoreError) -> Int {
        try await index.sizes(app, since: oldest, now: now + PushIndex.hour).map(\.size).reduce(0, +)
    }

    /// The ledgers of pushes, in one round trip. Nil for a push whose record is gone, or was never written.
    public func ledgers(
        _ app: AppKey, _ pushes: [(id: PushID, name: ActivityName)]
    ) async throws(StoreError) -> [(Ledger?, PushID)] {
        let records = try await redis.pushFields(keys, pushes.map { (keys.tag(app, $0.name), $0.id) })
        return zip(pushes, records).map { push, fields in
            (fields.isEmpty ? nil : try? Ledger(id: push.id, name: push.name, fields), push.id)
        }
    }
}
