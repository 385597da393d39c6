public import LiveActivity
import Redis

/// A worker's hold on one shard of a push. Only the latest epoch of a shard can settle.
public struct Lease: Sendable, Hashable {
    public let app: AppKey
    public let name: ActivityName
    public let push: PushID
    public let part: WorkItem.Part
    public let owner: String
    let epoch: Int

    /// The part of the name's tokens that it covers; empty for retries.
    public var bounds: Range<ScanPosition> {
        guard case .shard(let index, let count) = part else { return .start ..< .start }
        let width = ScanPosition.end.rawValue / UInt64(count)
        return ScanPosition(UInt64(index) * width)..<ScanPosition(UInt64(index + 1) * width)
    }
}

/// A shard in hand: the push, and how far it was settled before.
public struct Claim: Sendable {
    public var lease: Lease
    public var record: PushRecord
    /// Everything before this is settled.
    public var position: ScanPosition
    /// Ranges behind `position` that are settled too, ascending.
    public var ahead: [Range<ScanPosition>]
    /// Somebody held the shard before, and may not have applied the prunes it owed.
    public var isTakenOver: Bool
}

public enum Begun: Sendable {
    /// Nothing waits under this name.
    case idle
    /// Its shards are in the stream already.
    case planned
    /// Put these shards into the stream, then call `markPlanned`.
    case plan(PushRecord, shards: Int)
    /// Another worker has it.
    case held
    /// Its update waits this long for the name's interval to end, and may be replaced until then.
    case paced(Duration)
    case claimed(Claim)

    public var isClaimed: Bool { if case .claimed = self { true } else { false } }
}

public enum ClaimResult: Sendable {
    case gone
    case held(Duration)
    /// Finished; what a worker before may have left undone.
    case done(Leftovers)
    case claimed(Claim)
}

/// What is still to be seen to after a shard is settled: each of it is repeatable.
public struct Leftovers: Sendable, Hashable {
    /// Other pushes of the name wait to be taken up.
    public var nameWaits: Bool
    /// When the first retry is due, epoch ms.
    public var firstRetry: Int64?
    /// Prunes are owed that whoever settles does not know of: a worker before it decided on them, or one beside it.
    public var owesPrunes: Bool
    /// Owed prunes that this call struck off as pruned: each is in exactly one call's number.
    public var pruned = 0
}

public enum Settled: Sendable {
    /// The lease is another's: nothing was written, begin nothing more.
    case stale
    case gone
    case ok(state: PushState, shardFinished: Bool, Leftovers)
}

/// The sweeps of pushes over their names: begin, claim, settle. Each call is one script on the name's slot.
public struct Sweeps: Sendable {
    /// Buckets (about 90 tokens each) to a shard, at the least: below twice that, a push is one shard.
    static let bucketsPerShard = 16
    static let mostShards = 64

    let redis: RedisClient
    let keys: Keyspace

    /// Takes up the name's oldest unswept push. `hint` is the push that the stream's entry names: usually the right one.
    /// `minInterval` is the least time between two alert-free updates that may be replaced; 0 = off.
    public func begin(
        _ app: AppKey, _ name: ActivityName, hint: PushID, owner: String, lease: Duration,
        minInterval: Duration = .zero
    ) async throws(StoreError) -> (begun: Begun, push: PushID) {
        let tag = keys.tag(app, name)
        var push = hint
        // Each turn follows the script's word on which push is first; it changes only when other workers finish pushes.
        for _ in 0..<16 {
            let reply = try await redis.run([
                RedisCommand(
                    Lua.pushBegin,
                    keys: [
                        .string(keys.name(tag)), .string(keys.unswept(tag)), .string(keys.push(tag, push)),
                        .string(keys.tasks(tag, push)), .string(keys.root(tag)),
                    ],
                    arguments: [
                        .string(push.description), .string(owner), .int(lease.milliseconds), .int(Self.bucketsPerShard),
                        .int(Self.mostShards), .int(Pushes.retention.milliseconds), .int(minInterval.milliseconds),
                        .string(keys.pushPrefix(tag)),
                    ])
            ])[0]
            let word = try redisErrors { () throws(RedisError) in try reply[0].string() }
            switch word {
            case "idle": return (.idle, push)
            case "held": return (.held, push)
            case "planned": return (.planned, push)
            case "paced":
                let left = try redisErrors { () throws(RedisError) in try reply[1].integer() }
                return (.paced(.milliseconds(left)), push)
            case "gone": continue
            case "other":
                guard let other = PushID(try redisErrors { () throws(RedisError) in try reply[1].string() }) else {
                    throw .corrupt("active push")
                }
                push = other
            case "plan":
                let shards = try redisErrors { () throws(RedisError) in try reply[1].integer() }
                return (.plan(try record(push, reply[2]), shards: shards), push)
            case "claimed":
                let part = WorkItem.Part.shard(index: 0, count: 1)
                return (.claimed(try claim(app, name, push, part, owner, reply)), push)
            default: throw .redis(.unexpectedReply("push-begin answered \(word)"))
            }
        }
        return (.held, push)
    }

    /// Notes that all shards of a push are in the stream.
    public func markPlanned(_ app: AppKey, _ name: ActivityName, _ push: PushID) async throws(StoreError) {
        let tasks = keys.tasks(keys.tag(app, name), push)
        _ = try await redis.run([RedisCommand(Lua.taskPlanned, keys: [.string(tasks)])])
    }

    public func claim(_ item: WorkItem, owner: String, lease: Duration) async throws(StoreError) -> ClaimResult {
        let tag = keys.tag(item.app, item.name)
        let reply = try await redis.run([
            RedisCommand(
                Lua.taskClaim,
                keys: [
                    .string(keys.push(tag, item.push)), .string(keys.tasks(tag, item.push)),
                    .string(keys.retries(tag, item.push)), .string(keys.owed(tag, item.push)),
                    .string(keys.unswept(tag)),
                ],
                arguments: [.string(item.part.text), .string(owner), .int(lease.milliseconds)])
        ])[0]
        let word = try redisErrors { () throws(RedisError) in try reply[0].string() }
        switch word {
        case "gone": return .gone
        case "held": return .held(.milliseconds(try redisErrors { () throws(RedisError) in try reply[1].integer() }))
        case "done":
            return .done(
                try redisErrors { () throws(RedisError) in
                    Leftovers(
                        nameWaits: try reply[1].integer() > 0, firstRetry: try reply[2].optionalTime(),
                        owesPrunes: try reply[3].integer() > 0)
                })
        case "claimed":
            return .claimed(try claim(item.app, item.name, item.push, item.part, owner, reply))
        default: throw .redis(.unexpectedReply("task-claim answered \(word)"))
        }
    }

    /// Prolongs a lease; false when it is another's by now. Zero gives it back: it cannot be prolonged any more.
    public func renew(_ lease: Lease, for duration: Duration) async throws(StoreError) -> Bool {
        let reply = try await redis.run([
            RedisCommand(
                Lua.taskRenew, keys: [.string(keys.tasks(keys.tag(lease.app, lease.name), lease.push))],
                arguments: [
                    .string(lease.part.text), .string(lease.owner), .int(lease.epoch), .int(duration.milliseconds),
                ])
        ])[0]
        return try redisErrors { () throws(RedisError) in try reply.integer() == 1 }
    }

    /// Settles a page, or retries, or prunes that were applied. Without a lease nothing but strikes may be in it.
    public func settle(
        _ app: AppKey, _ name: ActivityName, _ push: PushID, lease: Lease?, for duration: Duration,
        _ settlement: Settlement
    ) async throws(StoreError) -> Settled {
        let tag = keys.tag(app, name)
        let bounds = lease?.bounds ?? .start ..< .start
        let range = settlement.range ?? bounds.lowerBound..<bounds.lowerBound
        let header: [RedisArgument] = [
            .string(push.description), .string(lease?.part.text ?? ""), .string(lease?.owner ?? ""),
            .int(lease?.epoch ?? 0),
            .int(duration.milliseconds), .int(range.lowerBound.rawValue), .int(range.upperBound.rawValue),
            .int(bounds.lowerBound.rawValue), .int(bounds.upperBound.rawValue), .string(settlement.stop ?? ""),
        ]
        let reply = try await redis.run([
            RedisCommand(
                Lua.taskSettle,
                keys: [
                    .string(keys.name(tag)), .string(keys.unswept(tag)), .string(keys.push(tag, push)),
                    .string(keys.tasks(tag, push)), .string(keys.retries(tag, push)), .string(keys.owed(tag, push)),
                ],
                arguments: header + settlement.arguments)
        ])[0]
        return try redisErrors { () throws(RedisError) in
            switch try reply[0].string() {
            case "stale": return .stale
            case "gone": return .gone
            case "ok":
                guard let state = PushState(rawValue: try reply[1].string()) else {
                    throw .unexpectedReply("task-settle answered an unknown state")
                }
                return .ok(
                    state: state, shardFinished: try reply[2].integer() == 1,
                    Leftovers(
                        nameWaits: try reply[3].integer() > 0, firstRetry: try reply[4].optionalTime(),
                        owesPrunes: try reply[5].integer() > settlement.prunes, pruned: try reply[6].integer()))
            case let word: throw .unexpectedReply("task-settle answered \(word)")
            }
        }
    }

    /// The tokens of a push whose retry is due, at most `limit`; they stay in the set until they are settled. What cannot be
    /// read is counted as failed and taken out, so that it does not stand before the others for ever.
    public func dueRetries(_ lease: Lease, now: Int64, limit: Int) async throws(StoreError) -> [RetryToken] {
        let key = keys.retries(keys.tag(lease.app, lease.name), lease.push)
        let reply = try await redis.run([
            RedisCommand("ZRANGEBYSCORE", [.string(key), "-inf", .int(now), "LIMIT", "0", .int(limit)])
        ])[0]
        var unreadable = Settlement()
        let tokens = try redisErrors { () throws(RedisError) in
            var tokens: [RetryToken] = []
            for item in try reply.array() {
                let member = try item.bytes()
                if let token = RetryToken(member: member) {
                    tokens.append(token)
                } else {
                    unreadable.discard(retry: member)
                }
            }
            return tokens
        }
        try await settle(lease.app, lease.name, lease.push, unreadable)
        return tokens
    }

    /// Prunes that were decided and not struck off; what cannot be read is counted as failed and struck off.
    public func owedPrunes(_ app: AppKey, _ name: ActivityName, _ push: PushID) async throws(StoreError) -> [Prune] {
        let reply = try await redis.run([RedisCommand("HGETALL", [.string(keys.owed(keys.tag(app, name), push))])])[0]
        var unreadable = Settlement()
        let prunes = try redisErrors { () throws(RedisError) in
            let items = try reply.array()
            var prunes: [Prune] = []
            for index in stride(from: 0, to: items.count - 1, by: 2) {
                let channel = try items[index].bytes()
                if let prune = Prune(channel: channel, storedValue: try items[index + 1].bytes()) {
                    prunes.append(prune)
                } else {
                    unreadable.discard(pruneOf: channel)
                }
            }
            return prunes
        }
        try await settle(app, name, push, unreadable)
        return prunes
    }

    /// What could not be read: without a lease, since each is counted once whoever counts it.
    private func settle(
        _ app: AppKey, _ name: ActivityName, _ push: PushID, _ unreadable: Settlement
    ) async throws(StoreError) {
        if unreadable.errors.isEmpty { return }
        _ = try await settle(app, name, push, lease: nil, for: .zero, unreadable)
    }

    /// The sequence number of the name's newest push to everyone: a supersedable push before it has nothing left to say.
    public func newestForAll(_ app: AppKey, _ name: ActivityName) async throws(StoreError) -> Int {
        let reply = try await redis.run([RedisCommand("HGET", [.string(keys.name(keys.tag(app, name))), "all"])])[0]
        return try redisErrors { () throws(RedisError) in reply.isNil ? 0 : Int(try reply.string()) ?? 0 }
    }

    /// What a push may still need after its shards: for an entry that came back from a worker that died.
    public func leftovers(_ app: AppKey, _ name: ActivityName, _ push: PushID) async throws(StoreError) -> Leftovers {
        let tag = keys.tag(app, name)
        let replies = try await redis.run([
            RedisCommand("ZCARD", [.string(keys.unswept(tag))]),
            RedisCommand("ZRANGE", [.string(keys.retries(tag, push)), "0", "0", "WITHSCORES"]),
            RedisCommand("HLEN", [.string(keys.owed(tag, push))]),
        ])
        return try redisErrors { () throws(RedisError) in
            Leftovers(
                nameWaits: try replies[0].integer() > 0,
                firstRetry: replies[1].count == 2 ? try replies[1][1].optionalTime() : nil,
                owesPrunes: try replies[2].integer() > 0)
        }
    }

    /// Shards of a planned push that are not finished and under no live lease.
    public func unfinishedShards(
        _ app: AppKey, _ name: ActivityName, _ push: PushID
    ) async throws(StoreError) -> [WorkItem.Part] {
        let replies = try await redis.run([
            RedisCommand("HGETALL", [.string(keys.tasks(keys.tag(app, name), push))]), RedisCommand("TIME"),
        ])
        return try redisErrors { () throws(RedisError) in
            let fields = try StoredHash(replies[0])
            guard let count = fields.number("shards"), (2...1 << 16).contains(count),
                let now = Int(try replies[1][0].string())
            else { return [] }
            return (0..<count).map { WorkItem.Part.shard(index: $0, count: count) }.filter { part in
                fields.text("\(part.text):f") == nil && (fields.number("\(part.text):d") ?? 0) < now * 1_000
            }
        }
    }

    private func record(_ push: PushID, _ reply: RedisReply) throws(StoreError) -> PushRecord {
        let fields = try redisErrors { () throws(RedisError) in try StoredHash(reply) }
        return try PushRecord(id: push, fields)
    }

    /// From `{'claimed', epoch, position, ahead, record}`.
    private func claim(
        _ app: AppKey, _ name: ActivityName, _ push: PushID, _ part: WorkItem.Part, _ owner: String, _ reply: RedisReply
    ) throws(StoreError) -> Claim {
        let (epoch, position, ahead) = try redisErrors { () throws(RedisError) in
            (try reply[1].integer(), UInt64(try reply[2].string()) ?? 0, try reply[3].string())
        }
        let lease = Lease(app: app, name: name, push: push, part: part, owner: owner, epoch: epoch)
        let ranges = ahead.split(separator: ",").compactMap { text -> Range<ScanPosition>? in
            let ends = text.split(separator: "-").compactMap { UInt64($0) }
            guard ends.count == 2, ends[0] < ends[1] else { return nil }
            return ScanPosition(ends[0])..<ScanPosition(ends[1])
        }
        return Claim(
            lease: lease, record: try record(push, reply[4]),
            position: max(ScanPosition(position), lease.bounds.lowerBound),
            ahead: ranges, isTakenOver: epoch > 1)
    }
}

extension RedisReply {
    /// A score as text, '' for none. Epoch ms; what is no time stands for one that never comes.
    fileprivate func optionalTime() throws(RedisError) -> Int64? {
        Double(try string()).map { Int64(exactly: $0.rounded()) ?? .max }
    }
}
