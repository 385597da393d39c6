public import LiveActivity
import Redis
public import StoreGround

/// The right to make and delete an app's broadcast channels, until it lapses on Redis's clock.
public struct BroadcastLease: Sendable, Hashable {
    public var app: AppKey
    public var epoch: Int
    /// Set if the holder before died while it made a broadcast channel: for which name, and the id if it is known.
    public var unfinished: Creation?

    public struct Creation: Sendable, Hashable {
        public var name: ActivityName
        public var id: BroadcastChannelID?
    }
}

/// A worker's work on broadcast channels. The order of writes in a creation, and what a crash after each leaves:
/// 1. `noteForeign`, `intend`: nothing, or an intent without a channel.
/// 2. APNs makes the channel: APNs lists a channel that is neither in the index nor foreign.
/// 3. `made`: the channel is in the index, but its name does not know it.
/// 4. `live`: the creation is finished, but still noted as intended.
/// 5. `forget`: nothing is left to do.
///
/// The next holder of the lease finds the intent and finishes or undoes the creation.
extension Broadcasts {
    public enum Discard: String, Sendable, Hashable {
        case none = ""
        case stays = "live"
        case deleting
    }

    public enum Gone: String, Sendable, Hashable {
        case notThisNames = ""
        case deleted
        /// The channel was in use, and a worker is to make another one.
        case wanted
    }

    /// Names with due work, which stay in the set. Entries that cannot be read are removed and counted as `dropped`.
    public func due(
        _ app: AppKey, now: Int64, limit: Int
    ) async throws(StoreError) -> (names: [ActivityName], dropped: Int) {
        let timers = keys.broadcastTimers(app)
        let reply = try await redis.run("ZRANGEBYSCORE", timers, "-inf", .int(now), "LIMIT", "0", .int(limit))
        let (names, unreadable) = try reply.names()
        if !unreadable.isEmpty { try await redis.run("ZREM", timers, unreadable) }
        return (names, unreadable.count)
    }

    /// Postpones a name's work until `at` (epoch ms). Read the record afterwards, because writers set the timer last.
    public func postpone(_ app: AppKey, _ name: ActivityName, until at: Int64) async throws(StoreError) {
        try await wake(app, name, at: at)
    }

    /// Removes the name from the timer because no work is left, unless the timer was set since `postpone`.
    public func done(_ app: AppKey, _ name: ActivityName, postponedUntil at: Int64) async throws(StoreError) {
        try await redis.run(
            Lua.queueForget, keys: ["timer": keys.broadcastTimers(app)],
            ["name": .string(name.rawValue), "score": .int(at)])
    }

    /// - Returns: nil if another worker has the lease.
    public func claim(
        _ app: AppKey, owner: String, for duration: Duration
    ) async throws(StoreError) -> BroadcastLease? {
        var reply = try ReplyValues(
            await redis.run(
                Lua.broadcastLease, keys: ["bcl": keys.broadcastLease(app)],
                ["owner": .string(owner), "length": .int(duration.milliseconds)]))
        guard try reply.next(.string("state")) == "claimed" else { return nil }
        let (epoch, name, id) = try reply.all(.integer("epoch"), .string("name"), .string("channel"))
        let unfinished = (try? ActivityName(name))
            .map { BroadcastLease.Creation(name: $0, id: try? BroadcastChannelID(id)) }
        return BroadcastLease(app: app, epoch: epoch, unfinished: unfinished)
    }

    /// - Returns: false, here and below, if another worker has the lease. Nothing was changed then.
    public func renew(_ lease: BroadcastLease, for duration: Duration) async throws(StoreError) -> Bool {
        try await step(lease, duration, "keep")
    }

    @discardableResult
    public func giveBack(_ lease: BroadcastLease) async throws(StoreError) -> Bool {
        try await step(lease, .zero, "keep")
    }

    public func intend(
        _ lease: BroadcastLease, _ name: ActivityName, for duration: Duration
    ) async throws(StoreError) -> Bool {
        try await step(lease, duration, "intend", name)
    }

    public func made(
        _ lease: BroadcastLease, _ name: ActivityName, _ id: BroadcastChannelID, for duration: Duration
    ) async throws(StoreError) -> Bool {
        try await step(lease, duration, "made", name, id)
    }

    public func forget(_ lease: BroadcastLease, for duration: Duration) async throws(StoreError) -> Bool {
        try await step(lease, duration, "forget")
    }

    public func noteForeign(_ lease: BroadcastLease, _ ids: [BroadcastChannelID]) async throws(StoreError) -> Bool {
        let reply = try await redis.run(
            Lua.broadcastForeign,
            keys: ["bcl": keys.broadcastLease(lease.app), "bcf": keys.broadcastForeign(lease.app)],
            ["epoch": .int(lease.epoch)], rest: ids.map { .string($0.rawValue) })
        return try reply.isOne()
    }

    public func foreign(_ app: AppKey) async throws(StoreError) -> Set<BroadcastChannelID> {
        let ids = try await redis.run("SMEMBERS", keys.broadcastForeign(app)).strings()
        return Set(ids.compactMap { try? BroadcastChannelID($0) })
    }

    private func step(
        _ lease: BroadcastLease, _ duration: Duration, _ step: String, _ name: ActivityName? = nil,
        _ id: BroadcastChannelID? = nil
    ) async throws(StoreError) -> Bool {
        let reply = try await redis.run(
            Lua.broadcastIntend, keys: ["bcl": keys.broadcastLease(lease.app), "bcn": keys.broadcastIndex(lease.app)],
            [
                "epoch": .int(lease.epoch), "length": .int(duration.milliseconds), "step": .string(step),
                "name": .string(name?.rawValue ?? ""), "id": .string(id?.rawValue ?? ""),
            ])
        return try reply.isOne()
    }

    /// - Returns: false if the name does not want the broadcast channel any more.
    public func live(
        _ app: AppKey, _ name: ActivityName, _ id: BroadcastChannelID, now: Int64
    ) async throws(StoreError) -> Bool {
        try await run(Lua.broadcastLive, app, name, ["id": .string(id.rawValue), "now": .int(now)]).isOne()
    }

    /// - Parameter because: `now`, or `ended` (only if the time has come and the name was not opened again).
    func discard(_ app: AppKey, _ name: ActivityName, because: String, now: Int64) async throws(StoreError) -> Discard {
        let tag = keys.tag(app, name)
        let reply = try await redis.run(
            Lua.broadcastDiscard, keys: ["bc": keys.broadcast(tag), "n": keys.name(tag)],
            ["because": .string(because), "now": .int(now)])
        guard let discard = Discard(rawValue: try reply.string()) else { throw .corrupt("broadcast-discard") }
        return discard
    }

    public func discardEnded(_ app: AppKey, _ name: ActivityName, now: Int64) async throws(StoreError) -> Discard {
        try await discard(app, name, because: "ended", now: now)
    }

    /// The name is closed. Its broadcast channel is deleted at `at` (epoch ms), unless the name is opened again before.
    public func retire(_ app: AppKey, _ name: ActivityName, at: Int64) async throws(StoreError) {
        let hasChannel = try await run(Lua.broadcastRetire, app, name, ["at": .int(at)]).isOne()
        if hasChannel { try await wake(app, name, at: at) }
    }

    /// Updates record and index: APNs does not know the broadcast channel, or has deleted it.
    public func gone(
        _ app: AppKey, _ name: ActivityName, _ id: BroadcastChannelID, now: Int64
    ) async throws(StoreError) -> Gone {
        let reply = try await run(Lua.broadcastGone, app, name, ["id": .string(id.rawValue), "now": .int(now)])
        let text = try reply.string()
        // The index comes last, because a broadcast channel must be counted while a record names it.
        try await removeFromIndex(app, id)
        if text == Gone.wanted.rawValue { try await wake(app, name, at: now) }
        return Gone(rawValue: text) ?? .notThisNames
    }

    /// Removes a broadcast channel that no name owns from the index.
    public func removeFromIndex(_ app: AppKey, _ id: BroadcastChannelID) async throws(StoreError) {
        try await redis.run("HDEL", keys.broadcastIndex(app), .string(id.rawValue))
    }

    /// - Returns: how many attempts in a row have failed.
    public func failed(_ app: AppKey, _ name: ActivityName, _ message: String) async throws(StoreError) -> Int {
        try await run(Lua.broadcastFail, app, name, ["message": .string(message)]).integer()
    }

    private func run(
        _ script: RedisScript, _ app: AppKey, _ name: ActivityName, _ arguments: KeyValuePairs<String, RedisArgument>
    ) async throws(StoreError) -> Reply {
        try await redis.run(script, keys: ["bc": keys.broadcast(keys.tag(app, name))], arguments)
    }
}
