public import LiveActivity
import Redis

/// An operator has paused an app, or one name of it. Pushes are accepted and kept, and nothing is sent.
public struct Pause: Sendable, Hashable {
    public var app: AppKey
    /// The paused name. Nil if the whole app is paused.
    public var name: ActivityName?
    /// Epoch milliseconds.
    public var since: Int64
}

public struct Pauses: Sendable {
    /// Most paused names of an app: each worker reads all of them at least every second.
    public static let mostNames = 1_000

    let redis: RedisClient
    let keys: Keyspace
    /// Epoch milliseconds.
    let clock: @Sendable () -> Int64

    /// - Returns: false if too many names are paused already.
    public func pause(_ app: AppKey, _ name: ActivityName?) async throws(StoreError) -> Bool {
        let key = keys.pauses(app)
        if name != nil, try await redis.run("HLEN", key).integer() >= Self.mostNames { return false }
        try await redis.run("HSETNX", key, .string(name?.rawValue ?? ""), .int(clock()))
        return true
    }

    /// - Returns: false if it was not paused.
    public func resume(_ app: AppKey, _ name: ActivityName?) async throws(StoreError) -> Bool {
        try await redis.run("HDEL", keys.pauses(app), .string(name?.rawValue ?? "")).isOne()
    }

    /// Whole apps before their names, in byte order.
    public func list(_ apps: [AppKey]) async throws(StoreError) -> [Pause] {
        let replies = try await redis.run(apps.map { Self.all(keys.pauses($0)) })
        var found: [Pause] = []
        for (app, reply) in zip(apps, replies) { found += try Self.read(reply, of: app) }
        return found
    }

    static func all(_ key: RedisKey) -> RedisCommand { RedisCommand("HGETALL", key) }

    static func read(_ reply: Reply, of app: AppKey) throws(StoreError) -> [Pause] {
        var pauses: [Pause] = []
        for (field, since) in try reply.pairs() {
            let text = try field.string()
            let name = try? ActivityName(text)
            if name == nil, !text.isEmpty { continue }
            pauses.append(Pause(app: app, name: name, since: try since.optionalTime() ?? 0))
        }
        return pauses.sorted {
            ($0.name?.rawValue ?? "").utf8.lexicographicallyPrecedes(($1.name?.rawValue ?? "").utf8)
        }
    }

    /// Since when the name or its whole app is paused, epoch ms.
    public func since(_ app: AppKey, _ name: ActivityName) async throws(StoreError) -> Int64? {
        let times = try await redis.run("HMGET", keys.pauses(app), "", .string(name.rawValue))
        for time in try times.array() where !time.isNil { return try time.optionalTime() }
        return nil
    }
}
