public import LiveActivity
import Redis

/// A channel that began to follow and is owed the state that it missed.
public struct LateFollower: Sendable, Hashable {
    public let channel: [UInt8]
    /// Pushes of the name up to this sequence number passed it by; later sweeps have it.
    public let upTo: Int
    /// Pushes up to this one are not for it: it was started by that one. 0: it asked by itself.
    public let after: Int
    /// As it stands in Redis: what is decided holds for it alone.
    let value: [UInt8]

    public var wasStarted: Bool { after > 0 }

    init?(channel: [UInt8], value: [UInt8]) {
        let numbers = String(decoding: value, as: UTF8.self).split(separator: " ").compactMap { Int($0) }
        guard numbers.count == 2 else { return nil }
        self.channel = channel
        (upTo, after) = (numbers[0], numbers[1])
        self.value = value
    }
}

/// What a name's late followers are judged by, as of one moment.
public struct CurrentStates: Sendable {
    /// Sequence of the last push that was taken up, as text.
    let begun: String
    /// Pushes that wait to be taken up: their sweeps will have whoever follows by then.
    public var waiting: [PushRecord] = []
    /// The newest push for each audience among those that were taken up, the newest first.
    public var kept: [PushRecord] = []
}

public enum LateDecision: Sendable, Hashable {
    /// In line for this push, which has that sequence.
    case put(PushID, sequence: Int)
    /// Nothing is owed to it.
    case drop
}

/// The state of a name for who comes late: kept by `push-begin`, wanted through `registry-set`, brought by the lines of
/// waiting channels (docs/adr/0008-late-followers.md).
public struct LateFollowers: Sendable {
    /// How long a state is kept: an activity lives no longer.
    public static let life: Duration = .seconds(8 * 3_600)
    /// Of the pushes that wait, so many at most are looked at, the newest.
    private static let mostWaiting = 64

    let redis: RedisClient
    let keys: Keyspace

    public func states(_ app: AppKey, _ name: ActivityName) async throws(StoreError) -> CurrentStates {
        let tag = keys.tag(app, name)
        let replies: [RedisReply]
        do throws(RedisError) {
            replies = try await redis.transaction([
                RedisCommand("HMGET", [.string(keys.name(tag)), "begun", "active"]),
                RedisCommand("HVALS", [.string(keys.states(tag))]),
                RedisCommand("ZREVRANGE", [.string(keys.unswept(tag)), "0", .int(Self.mostWaiting - 1)]),
            ])
        } catch {
            throw .redis(error)
        }
        let (begun, active, kept, unswept) = try redisErrors { () throws(RedisError) in
            for reply in replies { if let error = reply.error { throw error } }
            let meta = replies[0]
            return (
                meta[0].isNil ? "" : try meta[0].string(), meta[1].isNil ? nil : PushID(try meta[1].string()),
                try replies[1].array().map { reply throws(RedisError) in try reply.string() },
                try replies[2].array().map { reply throws(RedisError) in try reply.string() }
            )
        }
        // `<sequence> <event> <push>`
        let ids = kept.compactMap { text in text.split(separator: " ").last.flatMap { PushID(String($0)) } }
        let queued = unswept.compactMap { PushID($0) }.filter { $0 != active }
        let records = try await Sweeps(redis: redis, keys: keys).records(app, name, Set(ids + queued))
        func newestFirst(_ ids: [PushID]) -> [PushRecord] {
            ids.compactMap { records[$0] }.sorted { $0.sequence > $1.sequence }
        }
        return CurrentStates(
            begun: begun, waiting: newestFirst(queued), kept: newestFirst(ids))
    }

    /// Part after part of those who are owed a state; `body` decides about them.
    public func each(
        _ app: AppKey, _ name: ActivityName, _ body: ([LateFollower]) async throws(StoreError) -> Void
    ) async throws(StoreError) {
        let key = RedisArgument.string(keys.late(keys.tag(app, name)))
        try await redis.eachPart(
            ofHash: key, count: 500,
            read: { LateFollower(channel: Array($0), value: Array($1)) }, body)
    }

    /// Carries decisions out, one script. Nil: a push was taken up since `states` were read, and nothing was done. Otherwise how
    /// many are left to be decided about, and how many were put in line: a worker is to be woken for the name's lines.
    public func settle(
        _ app: AppKey, _ name: ActivityName, _ states: CurrentStates, _ decisions: [(LateFollower, LateDecision)]
    ) async throws(StoreError) -> (left: Int, put: Int)? {
        let tag = keys.tag(app, name)
        let reply = try await redis.run([
            RedisCommand(
                Lua.latePut,
                keys: [
                    .string(keys.name(tag)), .string(keys.late(tag)), .string(keys.waiting(tag)),
                    .string(keys.retries(tag)),
                ],
                arguments: [
                    .string(states.begun), .int(Pushes.retention.milliseconds), .string(keys.pushPrefix(tag)),
                    .string(keys.tasksPrefix(tag)),
                ]
                    + decisions.flatMap { follower, decision -> [RedisArgument] in
                        let (push, sequence): (RedisArgument, Int) =
                            if case .put(let id, let sequence) = decision {
                                (.bytes(id.uuid.bytes), sequence)
                            } else {
                                ("", 0)
                            }
                        return [.bytes(follower.channel), .bytes(follower.value), push, .int(sequence)]
                    })
        ])[0]
        return try redisErrors { () throws(RedisError) in
            switch try reply[0].string() {
            case "again": nil
            case "ok": (try reply[1].integer(), try reply[2].integer())
            case let word: throw .unexpectedReply("late-put answered \(word)")
            }
        }
    }

    /// Notes channels to which a `start` of the name went out: whichever of them registers a token within `life` is owed what
    /// was published since. Before the page is sent, so that no device is quicker; it may be repeated.
    /// - Returns: the notes that stood there, of starts before it.
    @discardableResult
    public func expect(
        _ app: AppKey, _ name: ActivityName, _ channels: [[UInt8]], startedBy sequence: Int, now: Int64
    ) async throws(StoreError) -> [[UInt8]?] {
        if channels.isEmpty { return [] }
        let key = RedisArgument.string(keys.awaited(keys.tag(app, name)))
        let value = RedisArgument.string("\(sequence) \(now)")
        let replies = try await redis.run([
            RedisCommand("HMGET", [key] + channels.map { .bytes($0) }),
            RedisCommand("HSET", [key] + channels.flatMap { [.bytes($0), value] }),
            RedisCommand("PEXPIRE", [key, .int(Self.life.milliseconds)]),
        ])
        return try redisErrors { () throws(RedisError) in
            var notes: [[UInt8]?] = []
            for reply in try replies[0].array() { notes.append(reply.isNil ? nil : Array(try reply.bytes())) }
            return notes
        }
    }

    /// Takes back what `expect` noted, for channels that got no card by that start: what stood there before it stands again.
    public func expectNothing(
        _ app: AppKey, _ name: ActivityName, _ channels: [(channel: [UInt8], before: [UInt8]?)]
    ) async throws(StoreError) {
        let key = RedisArgument.string(keys.awaited(keys.tag(app, name)))
        let gone = channels.filter { $0.before == nil }.map { RedisArgument.bytes($0.channel) }
        let back = channels.flatMap { channel, before in
            before.map { [RedisArgument.bytes(channel), .bytes($0)] } ?? []
        }
        let commands =
            (gone.isEmpty ? [] : [RedisCommand("HDEL", [key] + gone)])
            + (back.isEmpty ? [] : [RedisCommand("HSET", [key] + back)])
        if !commands.isEmpty { _ = try await redis.run(commands) }
    }
}
