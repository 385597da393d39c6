public import LiveActivity
import OpenSSL
import Redis

/// The keys that App Attest vouched for, each of one install of an app, and the challenges that were used.
///
/// The stored hash has no channel, only a digest of it: so there is nothing to remove when a channel is forgotten.
public struct AttestedKeys: Sendable {
    /// An install that asks for no token for so long attests another key.
    static let life: Duration = .seconds(365 * 86_400)

    let redis: RedisClient
    let keys: Keyspace

    /// Stores a key. One that is there keeps its counter, so that no assertion counts twice.
    /// - Parameters:
    ///   - id: the SHA-256 of the key's point.
    ///   - point: of the public key.
    public func keep(
        _ app: AppKey, _ id: [UInt8], point: [UInt8], of channel: ChannelID
    ) async throws(StoreError) {
        let key = keys.attestedKey(app, Hex.encode(id))
        try await redis.run([
            RedisCommand("HSET", key, "k", .bytes(point), "c", .bytes(Self.digest(channel))),
            RedisCommand("HSETNX", key, "n", "0"), RedisCommand("PEXPIRE", key, .int(Self.life.milliseconds)),
        ])
    }

    /// - Returns: the key's point. Nil if it was not attested for this channel, or was not used for a year.
    public func point(_ app: AppKey, _ id: [UInt8], of channel: ChannelID) async throws(StoreError) -> [UInt8]? {
        let (point, digest) = try await redis.run("HMGET", keys.attestedKey(app, Hex.encode(id)), "k", "c")
            .values(.optionalBytes("point"), .optionalBytes("channel"))
        guard let point, let digest, Array(digest) == Self.digest(channel) else { return nil }
        return Array(point)
    }

    /// - Returns: false if the counter is not larger than the counter of the key's last assertion.
    public func count(_ app: AppKey, _ id: [UInt8], to counter: UInt32) async throws(StoreError) -> Bool {
        let reply = try await redis.run(
            Lua.attestCount, keys: ["key": keys.attestedKey(app, Hex.encode(id))],
            ["counter": .int(Int64(counter)), "life": .int(Self.life.milliseconds)])
        return try reply.integer() == 1
    }

    public func isUsed(_ challenge: String, of app: AppKey) async throws(StoreError) -> Bool {
        try await redis.run("EXISTS", keys.usedChallenge(app, Self.digest(challenge))).isOne()
    }

    /// - Parameter life: as long as a challenge can be used.
    /// - Returns: false if it was used before.
    public func use(_ challenge: String, of app: AppKey, for life: Duration) async throws(StoreError) -> Bool {
        let reply = try await redis.run(
            "SET", keys.usedChallenge(app, Self.digest(challenge)), "1", "NX", "PX", .int(life.milliseconds))
        return !reply.isNil
    }

    private static func digest(_ challenge: String) -> String { Hex.encode(SHA256Digest(of: challenge.utf8)) }

    private static func digest(_ channel: ChannelID) -> [UInt8] {
        Array(SHA256Digest(of: channel.stored).prefix(16))
    }
}

extension Store {
    public var attestedKeys: AttestedKeys { AttestedKeys(redis: redis, keys: keys) }
}
