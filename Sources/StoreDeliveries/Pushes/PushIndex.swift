package import LiveActivity
package import Redis
package import StoreGround
import Synchronization

/// An app's pushes: where a push is, and which pushes there were. For each hour there is a sorted set with equal
/// scores, so in byte order, of id and name. The hour is that of the id. A push that is accepted more than an hour
/// after its id was made, as schedules are, is also in the hour of its acceptance, where the history shows it.
/// docs/adr/0020-history.md has the reasons.
package struct PushIndex: Sendable {
    static let hour: Int64 = 3_600_000
    /// After the last push that joined a set, the set lives an hour longer than the push, so that not every push has to
    /// prolong its life.
    private static let renewal = hour / 2

    package let redis: RedisClient
    package let keys: Keyspace
    private let renewals = Renewals()

    /// When this process last prolonged the life of each set, epoch ms. Two generations.
    private final class Renewals: Sendable {
        private static let generation = 1_000
        private let sets = Mutex<(young: [RedisKey: Int64], old: [RedisKey: Int64])>(([:], [:]))

        /// Whether a set's life is to be prolonged. The caller does so if it is.
        func take(_ set: RedisKey, now: Int64) -> Bool {
            sets.withLock { sets in
                let last = sets.young[set] ?? sets.old[set]
                if let last, (0..<PushIndex.renewal).contains(now - last) { return false }
                if sets.young.count >= Self.generation { sets = ([:], sets.young) }
                sets.young[set] = now
                return true
            }
        }
    }

    package init(redis: RedisClient, keys: Keyspace) {
        self.redis = redis
        self.keys = keys
    }

    /// The set that has the push by its id.
    package func key(_ app: AppKey, _ id: PushID) -> RedisKey { key(app, id, hour: id.uuid.time / Self.hour) }

    private func key(_ app: AppKey, _ id: PushID, hour: Int64) -> RedisKey {
        keys.pushIndex(app, hour: hour, slice: Int(id.uuid.low % UInt64(keys.partitions)))
    }

    /// How long a set lives after its life was prolonged.
    package var life: Int64 { keys.retention + Self.hour }

    /// The commands that put a push into the index, before its commit.
    package func note(_ app: AppKey, _ id: PushID, _ name: ActivityName, now: Int64) -> [RedisCommand] {
        let member = Self.member(id, name)
        return sets(app, id, acceptedAt: now).flatMap { set in
            [RedisCommand("ZADD", set, "1", member)]
                + (renewals.take(set, now: now) ? [RedisCommand("PEXPIRE", set, .int(life))] : [])
        }
    }

    /// Show that the server still has the entry, and write something for the replicas to confirm.
    func proofs(_ app: AppKey, _ id: PushID, _ name: ActivityName) -> [RedisCommand] {
        let set = key(app, id)
        return [RedisCommand("ZSCORE", set, Self.member(id, name)), ReplicaWait.proof(set, life: life)]
    }

    private static func member(_ id: PushID, _ name: ActivityName) -> RedisArgument {
        .bytes(id.uuid.bytes + Array(name.rawValue.utf8))
    }

    /// The command that takes a push out again, because it was not committed.
    package func drop(_ app: AppKey, _ id: PushID, _ name: ActivityName) -> RedisCommand {
        RedisCommand("ZREM", key(app, id), Self.member(id, name))
    }

    /// The commands that take out all entries of a push that is gone.
    func drops(_ app: AppKey, _ id: PushID, _ name: ActivityName, acceptedAt time: Int64) -> [RedisCommand] {
        sets(app, id, acceptedAt: time).map { RedisCommand("ZREM", $0, Self.member(id, name)) }
    }

    /// The sets that have a push.
    private func sets(_ app: AppKey, _ id: PushID, acceptedAt time: Int64) -> [RedisKey] {
        [key(app, id)] + (Self.isLate(id, acceptedAt: time) ? [key(app, id, hour: time / Self.hour)] : [])
    }

    /// Asks whether the hour of its acceptance has a push.
    func score(_ app: AppKey, _ id: PushID, _ name: ActivityName, acceptedAt time: Int64) -> RedisCommand {
        RedisCommand("ZSCORE", key(app, id, hour: time / Self.hour), Self.member(id, name))
    }

    static func isLate(_ id: PushID, acceptedAt time: Int64) -> Bool { abs(time - id.uuid.time) > hour }

    /// The name of a push of the app.
    package func name(of id: PushID, _ app: AppKey) async throws(StoreError) -> ActivityName? {
        if let name = try await names(of: [id], app)[0] { return name }
        // 0.1.0 noted each push by itself, with its app. That note lives as long as its push.
        let note = try await redis.run("GET", keys.formerPushIndex(id)).optionalString()
        guard let parts = note?.cut(at: UInt8(ascii: " ")), parts.head == app.rawValue else { return nil }
        return try? ActivityName(parts.tail)
    }

    /// The names of pushes, nil for each that is not one of the app's.
    package func names(of ids: [PushID], _ app: AppKey) async throws(StoreError) -> [ActivityName?] {
        let replies = try await redis.run(
            ids.map { id in
                let bytes = id.uuid.bytes
                // No name has a byte of 255.
                return RedisCommand(
                    "ZRANGEBYLEX", key(app, id), .bytes(Array("[".utf8) + bytes),
                    .bytes(Array("(".utf8) + bytes + [0xFF]), "LIMIT", "0", "1")
            })
        return try replies.map { reply throws(StoreError) -> ActivityName? in
            guard let member = try reply.byteStrings().first else { return nil }
            guard let found = Self.push(member) else { throw .corrupt("push index") }
            return found.name
        }
    }

    package static func push(_ member: [UInt8]) -> (id: PushID, name: ActivityName)? {
        guard let uuid = UUIDBytes(bytes: member.prefix(16)),
            let text = String(validating: member.dropFirst(16), as: UTF8.self), let name = try? ActivityName(text)
        else { return nil }
        return (PushID(uuid), name)
    }

    /// How many pushes each set has since `oldest` (epoch ms), in the order of hours. A push that was accepted late is
    /// in two.
    func sizes(
        _ app: AppKey, since oldest: Int64, now: Int64
    ) async throws(StoreError) -> [(hour: Int64, slice: Int, size: Int)] {
        let hours = max(0, oldest) / Self.hour...max(oldest, now) / Self.hour
        let sets = hours.flatMap { hour in slices.map { (hour: hour, slice: $0) } }
        let all = sets.map { keys.pushIndex(app, hour: $0.hour, slice: $0.slice) }
        let there = try await redis.worthReading(all)
        let counted = zip(sets, all).filter { there.contains($0.1) }
        let replies = try await redis.run(counted.map { RedisCommand("ZCARD", $0.1) })
        return try zip(counted, replies).map { (set, reply) throws(StoreError) in
            (set.0.hour, set.0.slice, try reply.integer())
        }
    }

    /// Members of one set, in their order.
    package func members(
        _ app: AppKey, hour: Int64, slice: Int, after member: [UInt8]?, limit: Int
    ) async throws(StoreError) -> [[UInt8]] {
        try await redis.run(
            "ZRANGEBYLEX", keys.pushIndex(app, hour: hour, slice: slice),
            .bytes(member.map { Array("(".utf8) + $0 } ?? Array("-".utf8)), "+", "LIMIT", "0", .int(limit)
        ).byteStrings()
    }

    private var slices: Range<Int> { 0..<keys.partitions }

    /// Entries of some hours, newest first.
    /// - Parameters:
    ///   - hours: from the newest on.
    ///   - id: only pushes before this one in the first of the hours.
    ///   - limit: entries of each hour.
    /// - Returns: the entries of each hour, and whether the hour has no more.
    package func pushes(
        _ app: AppKey, hours: [Int64], before id: PushID?, limit: Int
    ) async throws(StoreError) -> [(pushes: [(id: PushID, name: ActivityName)], isWhole: Bool)] {
        let replies = try await redis.run(
            hours.enumerated().flatMap { position, hour in
                let upper: [UInt8] =
                    if position == 0, let id { Array("(".utf8) + id.uuid.bytes } else { Array("+".utf8) }
                return slices.map { slice in
                    RedisCommand(
                        "ZREVRANGEBYLEX", keys.pushIndex(app, hour: hour, slice: slice), .bytes(upper), "-", "LIMIT",
                        "0", .int(limit))
                }
            })
        var found: [(pushes: [(id: PushID, name: ActivityName)], isWhole: Bool)] = []
        for start in stride(from: 0, to: replies.count, by: slices.count) {
            var members: [[UInt8]] = []
            // If a slice has more, nothing is known behind its last entry.
            var known: [UInt8] = []
            for reply in replies[start..<start + slices.count] {
                let part = try reply.byteStrings()
                members += part
                if part.count == limit, let last = part.last, known.lexicographicallyPrecedes(last) { known = last }
            }
            let sorted = members.filter { !$0.lexicographicallyPrecedes(known) }
                .sorted { $1.lexicographicallyPrecedes($0) }
            found.append((sorted.compactMap(Self.push), known.isEmpty))
        }
        return found
    }
}
