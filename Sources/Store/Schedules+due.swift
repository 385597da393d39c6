public import LiveActivity
import Redis

/// What a worker did about a schedule that was due.
public struct ScheduleRun: Sendable, Hashable {
    public enum Outcome: Sendable, Hashable {
        case sent
        /// Refused for good.
        case failed(String)
        /// Refused for now; it is tried again.
        case postponed(String)
    }
    public var id: PushID
    public var outcome: Outcome
    /// From its time to its commit, milliseconds.
    public var lateness: Int64
}

extension Schedules {
    /// A schedule later than this (no worker was there) goes out with its own time as timestamp: if something newer was
    /// published to its name meanwhile, it is refused instead of showing an old state as the newest.
    static let punctual: Int64 = 60_000
    /// How long a name's full queue is waited for, and how often it is looked at.
    static let patience: Int64 = 600_000
    static let postponement: Int64 = 5_000
    /// For how long one worker has a schedule to itself. Past it, as after a death, another commits the same push.
    static let hold: Duration = .seconds(10)

    /// Commits what is due, by Redis's clock. Many workers may do so at once: each schedule becomes one push, under the id
    /// it was given when it was created.
    public func runDue(_ app: AppKey, limit: Int) async throws(StoreError) -> [ScheduleRun] {
        let reply = try await redis.run([
            RedisCommand(Lua.scheduleDue, keys: [.string(keys.at(app))], arguments: [.int(limit)])
        ])[0]
        let (now, members) = try redisErrors { () throws(RedisError) in
            let items = try reply.array()
            return (
                Int64(try reply[0].integer()),
                try items.dropFirst().map { item throws(RedisError) in try item.string() }
            )
        }
        if members.isEmpty { return [] }
        var runs: [ScheduleRun] = []
        // Not in their order: several workers that see the same ones seldom reach for the same one.
        for member in members.shuffled() {
            guard let id = PushID(member) else {
                try await forget(app, member)
                continue
            }
            if let run = try await run(app, id, now: now) { runs.append(run) }
        }
        return runs
    }

    private func forget(_ app: AppKey, _ member: String) async throws(StoreError) {
        _ = try await redis.run([RedisCommand("ZREM", [.string(keys.at(app)), .string(member)])])
    }

    /// Nil: another has it in hand, or it is over.
    private func run(_ app: AppKey, _ id: PushID, now: Int64) async throws(StoreError) -> ScheduleRun? {
        let taken = try await redis.run([
            RedisCommand(
                Lua.scheduleTake, keys: [.string(keys.schedule(app, id))],
                arguments: [.int(now), .int(Self.hold.milliseconds)])
        ])[0]
        switch try redisErrors({ () throws(RedisError) in try taken[0].string() }) {
        case "held": return nil
        case "early":
            let due = try redisErrors { () throws(RedisError) in try taken[1].string() }
            if let due = Int64(due) { try await raise(app, id, to: due) }
            return nil
        case "taken": break
        default:
            try await forget(app, id.description)
            return nil
        }
        let fields = try redisErrors { () throws(RedisError) in try StoredHash(taken[1]) }
        guard let schedule = try? Schedule(id: id, fields) else {
            return try await close(app, id, .failed("Unreadable"), now: now, lateness: 0)
        }
        var publish = schedule.publish
        let lateness = now - schedule.due
        if lateness > Self.punctual, publish.timestamp == nil { publish.timestamp = Int(schedule.due / 1_000) }
        let acceptance = try await pushes.accept(
            app, publish, id: id, payload: schedule.payload, timestampOffset: schedule.timestampOffset,
            isRepeatable: true, now: now)
        guard case .refused(let refusal) = acceptance else {
            return try await close(app, id, .sent, now: now, lateness: lateness)
        }
        if refusal.isPassing, lateness < Self.patience {
            return try await postpone(app, id, refusal.word, now: now, lateness: lateness)
        }
        return try await close(app, id, .failed(refusal.word), now: now, lateness: lateness)
    }

    private func close(
        _ app: AppKey, _ id: PushID, _ outcome: ScheduleRun.Outcome, now: Int64, lateness: Int64
    ) async throws(StoreError) -> ScheduleRun {
        var reason: String?
        if case .failed(let word) = outcome { reason = word }
        _ = try await settle(app, id, from: .taken, to: reason == nil ? .sent : .failed, reason: reason, now: now)
        try await forget(app, id.description)
        return ScheduleRun(id: id, outcome: outcome, lateness: lateness)
    }

    /// In this order: dying in between leaves an entry that is due and in nobody's hand.
    private func postpone(
        _ app: AppKey, _ id: PushID, _ reason: String, now: Int64, lateness: Int64
    ) async throws(StoreError) -> ScheduleRun {
        _ = try await settle(app, id, from: .taken, to: .scheduled, reason: reason, now: now)
        _ = try await redis.run([
            RedisCommand(
                "ZADD", [.string(keys.at(app)), "XX", .int(now + Self.postponement), .string(id.description)])
        ])
        return ScheduleRun(id: id, outcome: .postponed(reason), lateness: lateness)
    }
}

extension AcceptanceRefusal {
    /// Whether the same publish may be taken a little later.
    var isPassing: Bool {
        switch self {
        case .queueFull: true
        case .timestampBehind, .nameEnded, .idempotencyConflict: false
        }
    }

    /// As it stands in a ledger's `errors`.
    var word: String {
        switch self {
        case .timestampBehind: "TimestampBehind"
        case .nameEnded: "NameEnded"
        case .queueFull: "QueueFull"
        case .idempotencyConflict: "IdempotencyConflict"
        }
    }
}
