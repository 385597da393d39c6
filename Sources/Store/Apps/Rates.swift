import LiveActivity
import OpenSSL
import Redis

/// Buckets of requests that all gateways share.
public struct Rates: Sendable {
    /// The requests of a bucket that may come at once, as a time: a second's.
    private static let room = 1_000

    let redis: RedisClient
    let keys: Keyspace

    /// Takes requests out of the bucket of a caller.
    /// - Parameters:
    ///   - subject: a credential or an address; Redis has its digest only
    ///   - perSecond: how fast the bucket fills; it holds the requests of a second
    /// - Returns: how many were taken, at most `wanted`, and the milliseconds until there is one if none was
    public func take(
        _ subject: String, perSecond: Int, wanted: Int
    ) async throws(StoreError) -> (taken: Int, wait: Int) {
        let digest = Hex.encode(SHA256Digest(of: subject.utf8))
        return try await redis.run(
            Lua.rateTake, keys: ["rate": keys.rate(digest)],
            [
                "interval": .string("\(1_000 / Double(perSecond))"), "room": .int(Self.room), "wanted": .int(wanted),
            ]
        ).values(.integer("taken"), .integer("wait"))
    }
}
