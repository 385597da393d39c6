public import LiveActivity
import Redis

extension DeadLetters {
    /// Channels of a name that may wait while a stopped push is taken up again: the script looks through them.
    private static let mostWaiting = 20_000

    /// Tries again what a push gave up. Refused when something newer went out under its name, or its time is over.
    ///
    /// Order, and what a death in between leaves: the name among the open ones and its retries on the timer (nothing is due),
    /// the script (the reconciler and that timer find it), the wake-ups, the index (an entry without a record).
    public func retry(_ app: AppKey, _ push: PushID) async throws(StoreError) -> DeadRetry {
        guard let name = try await pushes.name(of: push, app) else { return .none }
        let tag = keys.tag(app, name)
        let reply = try await redis.run([RedisCommand("HGETALL", [.string(keys.push(tag, push))])])[0]
        let fields = try redisErrors { () throws(RedisError) in try StoredHash(reply) }
        if fields.isEmpty { return .none }
        let record = try PushRecord(id: push, fields)
        let now = clock()
        let retries = WorkItem.retries(app, name, record.priority)
        _ = try await redis.run([
            RedisCommand("ZADD", [.string(keys.open(app)), .int(now), .string(name.rawValue)])
        ])
        try await queue.schedule(retries, due: now + 30_000)
        let answer = try await redis.run([
            RedisCommand(
                Lua.deadRetry,
                keys: [
                    .string(keys.name(tag)), .string(keys.unswept(tag)), .string(keys.push(tag, push)),
                    .string(keys.tasks(tag, push)), .string(keys.retries(tag)), .string(keys.waiting(tag)),
                    .string(keys.deadLetter(tag, push)), .string(keys.deadChannels(tag, push)),
                ],
                arguments: [
                    .string(push.description), .bytes(push.uuid.bytes),
                    .int(record.deadline), .int(Pushes.retention.milliseconds),
                    .int(Self.mostWaiting),
                ])
        ])[0]
        let result = try redisErrors { () throws(RedisError) -> DeadRetry in
            switch try answer[0].string() {
            case "none": return .none
            case "expired": return .expired
            case "open": return .notFinished
            case "busy": return .busy
            case "newer": return .newer(PushID(try answer[1].string()))
            case "taken": return .taken(tokens: try answer[1].integer(), isResumed: try answer[2].integer() == 1)
            case let word: throw .unexpectedReply("dead-retry answered \(word)")
            }
        }
        guard case .taken(_, let isResumed) = result else { return result }
        try await queue.schedule(retries, due: now)
        if isResumed {
            try await queue.add([
                WorkItem(app: app, name: name, push: push, priority: record.priority, part: .name)
            ])
        }
        _ = try await drop(app, push)
        return result
    }
}
