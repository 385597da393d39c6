public import LiveActivity
import Redis

/// How much of an app's actions is kept.
public struct ActionPolicy: Sendable, Hashable {
    public static let defaultKept = 100_000
    public static let defaultLife: Duration = .seconds(90 * 86_400)
    /// About how many. 0: none is noted.
    public var keep: Int
    public var life: Duration

    public init(keep: Int = Self.defaultKept, life: Duration = Self.defaultLife) {
        self.keep = keep
        self.life = life
    }
}

/// The logs of actions: a stream for each app. Entries are only added, and removed when they are too old or too many.
public struct Actions: Sendable {
    /// Entries that one call reads at most, whatever is asked for.
    static let mostRead = 2_000
    private static let step = 500

    let redis: RedisClient
    let keys: Keyspace
    /// Epoch milliseconds by Redis's clock.
    let time: ServerTime
    public let policy: ActionPolicy

    public func add(_ app: AppKey, _ actions: [Action]) async throws(StoreError) {
        guard policy.keep > 0, !actions.isEmpty else { return }
        try await redis.run(
            Lua.actionAdd, keys: ["log": keys.actions(app)],
            ["keep": .int(policy.keep), "life": .int(policy.life.milliseconds)],
            rest: actions.flatMap { action in [.int(action.fields.count)] + action.fields })
    }

    /// The newest first. `next` is where the next page begins; nil: there is nothing more. A page may be short.
    public func list(
        _ app: AppKey, _ filter: ActionFilter = ActionFilter(), after position: String?, limit: Int
    ) async throws(StoreError) -> (actions: [LoggedAction], next: String?) {
        var end = position.map { "(\($0)" } ?? (filter.to < .max ? "(\(max(0, filter.to))-0" : "+")
        // Entries are removed in blocks, so some may be there for longer.
        let start = max(0, filter.from, time.now() - policy.life.milliseconds)
        var found: [LoggedAction] = []
        var read = 0
        while true {
            // Redis refuses an interval that ends before the first possible entry.
            if end.hasPrefix("("), StoredEvent.isFirstEntry(String(end.dropFirst())) { return (found, nil) }
            let reply = try await redis.run(
                "XREVRANGE", keys.actions(app), .string(end), .int(start), "COUNT", .int(Self.step))
            let entries = try reply.array()
            for entry in entries {
                let (id, fields) = try entry.entry()
                read += 1
                if let action = Action(try fields.hash()), filter.includes(action) {
                    found.append(LoggedAction(entry: id, action: action))
                }
                if found.count == limit || read >= Self.mostRead { return (found, id) }
                end = "(\(id)"
            }
            if entries.count < Self.step { return (found, nil) }
        }
    }
}

extension Action {
    var fields: [RedisArgument] {
        var fields: [RedisArgument] = [
            "action", .string(kind), "by", .string(credential), "from", .string(address), "op", .string(operation),
        ]
        if let who { fields += ["who", .string(who)] }
        if let whoID { fields += ["who_id", .string(whoID)] }
        if count != 1 { fields += ["count", .int(count)] }
        if let failed { fields += ["failed", .int(failed)] }
        for (subject, text) in subjects.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            fields += [.string(subject.rawValue), .string(text)]
        }
        return fields
    }

    /// Nil for an entry that no version writes.
    init?(_ fields: StoredHash) {
        guard let kind = fields.text("action"), let credential = fields.text("by") else { return nil }
        self.init(
            kind, credential: credential, address: fields.text("from") ?? "", who: fields.text("who"),
            whoID: fields.text("who_id"), operation: fields.text("op") ?? "",
            count: fields.number("count") ?? 1, failed: fields.number("failed"))
        for subject in Subject.allCases { subjects[subject] = fields.text(subject.rawValue) }
    }
}
