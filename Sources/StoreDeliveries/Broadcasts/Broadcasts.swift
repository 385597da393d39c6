public import LiveActivity
package import Redis
public import StoreGround

public enum BroadcastState: String, Sendable, Hashable, CaseIterable {
    /// A worker is to make it. `error` says why it has not succeeded so far.
    case wanted
    case live
    /// A worker is to delete it at APNs.
    case deleting
}

public struct BroadcastChannel: Sendable, Hashable {
    public var state: BroadcastState
    public var storage: BroadcastStorage
    /// Present while `live` and `deleting`.
    public var id: BroadcastChannelID?
    /// Time of the creation at APNs, epoch milliseconds.
    public var createdAt: Int64?
    /// Time of the deletion, epoch milliseconds. Present once the name is closed.
    public var deleteAt: Int64?
    /// The error of the last attempt to make or delete it.
    public var error: String?
}

/// The broadcast channels of names. The name's slot and a timer hold what a name wants. Workers carry it out at APNs
/// under a lease, one worker at a time for an app (`Broadcasts+work.swift`).
public struct Broadcasts: Sendable {
    package let redis: RedisClient
    package let keys: Keyspace
    package let endings: PushEndings

    package init(redis: RedisClient, keys: Keyspace, endings: PushEndings) {
        self.redis = redis
        self.keys = keys
        self.endings = endings
    }

    /// Asks for a broadcast channel and wakes a worker. An existing one stays, even with another storage. Repeat the
    /// call after a crash, because nothing else finds a record without a timer.
    public func want(
        _ app: AppKey, _ name: ActivityName, _ storage: BroadcastStorage, now: Int64
    ) async throws(StoreError) -> BroadcastChannel {
        let reply = try await redis.run(
            Lua.broadcastWant, keys: ["bc": keys.broadcast(keys.tag(app, name))],
            ["storage": .string(storage.rawValue), "now": .int(now)])
        let (state, _) = try reply.values(.string("state"), .string("storage"))
        if state == BroadcastState.wanted.rawValue { try await wake(app, name, at: now) }
        // Nil if a worker deleted it after the script ran.
        return try await channel(app, name) ?? BroadcastChannel(state: .deleting, storage: storage)
    }

    /// Gives up the name's broadcast channel and wakes a worker to delete it at APNs. Returns false if there is none.
    public func discard(_ app: AppKey, _ name: ActivityName, now: Int64) async throws(StoreError) -> Bool {
        guard try await channel(app, name) != nil else { return false }
        if try await discard(app, name, because: "now", now: now) == .deleting { try await wake(app, name, at: now) }
        return true
    }

    public func channel(_ app: AppKey, _ name: ActivityName) async throws(StoreError) -> BroadcastChannel? {
        let fields = try await redis.hash(keys.broadcast(keys.tag(app, name)))
        return fields.isEmpty ? nil : try BroadcastChannel(fields)
    }

    /// Whether the name has a broadcast channel, also one that is still to be made, that takes its pushes.
    public func takesPushes(_ app: AppKey, _ name: ActivityName) async throws(StoreError) -> Bool {
        let state = try await channel(app, name)?.state
        return state != nil && state != .deleting
    }

    /// How many broadcast channels the app has at APNs, as far as Lamplighter knows.
    public func count(_ app: AppKey) async throws(StoreError) -> (own: Int, foreign: Int) {
        try await redis.run([
            RedisCommand("HLEN", keys.broadcastIndex(app)), RedisCommand("SCARD", keys.broadcastForeign(app)),
        ]).values(.integer("own channels"), .integer("foreign channels"))
    }

    /// All broadcast channels of this app's names, sorted by name. At most 10,000, in one reply.
    public func list(_ app: AppKey) async throws(StoreError) -> [(name: ActivityName, id: BroadcastChannelID)] {
        try await redis.hash(keys.broadcastIndex(app)).pairs.compactMap { id, name in
            guard let id = try? BroadcastChannelID(id), let name = try? ActivityName(name) else { return nil }
            return (name: name, id: id)
        }
        .sorted { ($0.name.exact, $0.id.rawValue) < ($1.name.exact, $1.id.rawValue) }
    }

    /// Schedules the work on a name's broadcast channel for `at` (epoch ms), in place of an earlier time.
    package func wake(_ app: AppKey, _ name: ActivityName, at: Int64) async throws(StoreError) {
        try await redis.run("ZADD", keys.broadcastTimers(app), .int(at), .string(name.rawValue))
    }
}

extension BroadcastChannel {
    init(_ fields: StoredHash) throws(StoreError) {
        guard let state = fields.text("state").flatMap(BroadcastState.init(rawValue:)),
            let storage = fields.text("storage").flatMap(BroadcastStorage.init(rawValue:))
        else { throw .corrupt("broadcast channel") }
        self.init(
            state: state, storage: storage, id: fields.text("id").flatMap { try? BroadcastChannelID($0) },
            createdAt: fields.number("created").map(Int64.init), deleteAt: fields.number("delete_at").map(Int64.init),
            error: fields.text("error"))
    }
}
