public import LiveActivity
import OpenSSL
package import Redis
public import StoreGround

/// For apps with both APNs environments: which tokens are of the second one. A lost entry is found out again.
public struct OtherEnvironment: Sendable {
    package let redis: RedisClient
    package let keys: Keyspace

    package init(redis: RedisClient, keys: Keyspace) {
        self.redis = redis
        self.keys = keys
    }

    /// Notes tokens of a page that the other environment accepted.
    public func remember(
        _ app: AppKey, _ place: TokenPlace, _ page: TokenPage, _ found: [Int]
    ) async throws(StoreError) {
        if found.isEmpty { return }
        let key = keys.otherEnvironment(keys.tag(app, place))
        let fields = found.flatMap { [RedisArgument.bytes(page.channel($0)), .bytes(Self.hash(page.token($0)))] }
        try await redis.run([
            RedisCommand("HSET", key, fields), RedisCommand("PEXPIRE", key, .int(place.lifetime.retention)),
        ])
    }

    /// Eight bytes are enough to tell two tokens of one channel apart.
    package static func hash(_ token: some Collection<UInt8>) -> [UInt8] { Array(SHA256Digest(of: token).prefix(8)) }
}
