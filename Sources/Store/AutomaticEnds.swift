import Crypto
public import LiveActivity
import Redis

/// What came of looking at a name.
public struct EndOutcome: Sendable, Hashable {
    public enum Verdict: Sendable, Hashable {
        /// No card of it is old enough.
        case nothing
        /// Its push is committed.
        case ended
        /// Refused for now; the name is looked at again.
        case postponed(AcceptanceRefusal)
    }
    public var verdict: Verdict
    /// The push's id, whether or not there is one.
    public var push: PushID
    /// Cards that were old enough.
    public var cards: Int
}

/// Ends cards a time after their start, before iOS does: names wait in a timer for the first of their cards, and a push goes out for
/// those that are old enough by then (docs/adr/0009-automatic-end.md).
///
/// A registration is stored and then puts its name into the timer. A worker takes the name out of the timer and then reads it. So a
/// card is seen by the reading, or its name stands in the timer for it, whatever comes between. While a worker has the name in hand
/// it stands in a second set; whoever finds it there for too long does the same once more, with the same cutoff and thus the same
/// push.
public struct AutomaticEnds: Sendable {
    /// For how long a worker has a name to itself, unless it says that it goes on.
    static let hold: Duration = .seconds(60)
    /// When a name whose push was refused is looked at again.
    static let postponement: Duration = .seconds(10)
    private static let pageSize = 2_000

    let redis: RedisClient
    let keys: Keyspace
    let registry: Registry
    let pushes: Pushes

    /// Puts names into the timer, or leaves them at the earlier time at which they stand there.
    static func note(_ keys: Keyspace, _ app: AppKey, _ names: [(ActivityName, due: Int64)]) -> RedisCommand {
        RedisCommand(
            "ZADD",
            [.string(keys.ends(app)), "LT"] + names.flatMap { [.int($0.due), .string($0.0.rawValue)] })
    }

    /// Names to be looked at now, by Redis's clock: in this worker's hand until it says what became of each.
    public func take(_ app: AppKey, _ rule: EndRule, limit: Int) async throws(StoreError) -> [EndTask] {
        let reply = try await redis.run([
            RedisCommand(
                Lua.endTake, keys: [.string(keys.ends(app)), .string(keys.endsInHand(app))],
                arguments: [.int(limit), .int(Self.hold.milliseconds), .int(rule.age)])
        ])[0]
        let members = try redisErrors { () throws(RedisError) in
            try reply.array().map { member throws(RedisError) in try member.string() }
        }
        var tasks: [EndTask] = []
        for member in members {
            if let task = EndTask(app: app, member: member) {
                tasks.append(task)
            } else {
                _ = try await redis.run([RedisCommand("ZREM", [.string(keys.endsInHand(app)), .string(member)])])
            }
        }
        return tasks
    }

    /// Looks at the name's cards, and commits a push for those that are old enough. `payload` as `APNsWire.Payload` renders
    /// `task.publish`. Each step may be repeated; a death between them leaves the name in hand until somebody takes it over.
    public func run(
        _ task: EndTask, _ rule: EndRule, payload: [UInt8], timestampOffset: Int
    ) async throws(StoreError) -> EndOutcome {
        let count = try await cards(task)
        let id = Self.push(task)
        if count.due > 0 {
            let acceptance = try await pushes.accept(
                task.app, task.publish, id: id, payload: payload, timestampOffset: timestampOffset,
                isRepeatable: true, cutoff: task.cutoff)
            if case .refused(let refusal) = acceptance {
                try await keep(task, for: Self.postponement)
                return EndOutcome(verdict: .postponed(refusal), push: id, cards: count.due)
            }
        }
        try await close(task, rule, count)
        return EndOutcome(verdict: count.due > 0 ? .ended : .nothing, push: id, cards: count.due)
    }

    /// One id for a name and a cutoff, however often its push is committed.
    static func push(_ task: EndTask) -> PushID {
        var bytes = Array(SHA256.hash(data: Array("automatic end\n\(task.app)\n\(task.member)".utf8)).prefix(16))
        // A UUID of one's own making: version 8.
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        return UUIDBytes(bytes: bytes).map(PushID.init) ?? .none
    }

    /// Reads the whole name.
    func cards(_ task: EndTask) async throws(StoreError) -> CardCount {
        var count = CardCount(cutoff: task.cutoff)
        var position = ScanPosition.start
        var renewed = bootClock()
        while position < .end {
            let (page, next) = try await registry.page(
                task.app, task.name, from: position, to: .end, limit: Self.pageSize)
            for entry in page.entries { count.add(startedAt: entry.startedAt) }
            position = next
            if position < .end, bootClock() - renewed > Self.hold.milliseconds / 3 {
                try await keep(task, for: Self.hold)
                renewed = bootClock()
            }
        }
        return count
    }

    private func keep(_ task: EndTask, for time: Duration) async throws(StoreError) {
        _ = try await redis.run([
            RedisCommand(
                "ZADD",
                [
                    .string(keys.endsInHand(task.app)), "XX", .int(pushes.time.now() + time.milliseconds),
                    .string(task.member),
                ])
        ])
    }

    /// The name waits for the first of its other cards, if it has any. In this order: dying in between leaves it in hand.
    private func close(_ task: EndTask, _ rule: EndRule, _ count: CardCount) async throws(StoreError) {
        let next = count.nextStart.map { start in
            Self.note(keys, task.app, [(task.name, due: start + rule.after.milliseconds)])
        }
        let done = RedisCommand("ZREM", [.string(keys.endsInHand(task.app)), .string(task.member)])
        _ = try await redis.run((next.map { [$0] } ?? []) + [done])
    }
}

extension AutomaticEnds {
    /// Over so much time the names that were there before the setting are looked at, at the most.
    private static let adoption: Int64 = 600_000

    /// To be called at the start of a worker. Where cards were not ended by themselves before, or later, all names that are followed
    /// are put into the timer, to be looked at one after the other in the next minutes; how many they were. Nil: cards of this app
    /// are not ended, and whoever begins with it puts all names in. A death half way leaves it to be done once more.
    public func adopt(_ app: AppKey, _ rule: EndRule?) async throws(StoreError) -> Int {
        let known = RedisArgument.string(keys.endsAfter(app))
        guard let rule else {
            _ = try await redis.run([RedisCommand("DEL", [known])])
            return 0
        }
        let reply = try await redis.run([RedisCommand("GET", [known])])[0]
        let before = try redisErrors { () throws(RedisError) in reply.isNil ? nil : Int64(try reply.string()) }
        let after = rule.after.milliseconds
        if before == after { return 0 }
        var adopted = 0
        if (before ?? .max) > after {
            var last: String?
            let batch = 500
            while true {
                let names = try await registry.names(app, prefix: "", after: last, limit: batch)
                if names.isEmpty { break }
                let now = pushes.time.now()
                let dues = names.map { ($0, due: now + Int64.random(in: 0...min(after, Self.adoption))) }
                _ = try await redis.run([Self.note(keys, app, dues)])
                adopted += names.count
                last = names.last?.rawValue
                if names.count < batch { break }
            }
        }
        _ = try await redis.run([RedisCommand("SET", [known, .int(after)])])
        return adopted
    }
}
