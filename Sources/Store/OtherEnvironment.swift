public import LiveActivity
import OpenSSL
import Redis

/// Which tokens of an app that is configured for both APNs environments live in the second one. A page asks for it with the
/// other marks of its channels (`Marks`). What is forgotten is found out again.
public struct OtherEnvironment: Sendable {
    let redis: RedisClient
    let keys: Keyspace

    /// Remembers tokens of a page that the other environment took.
    public func remember(
        _ app: AppKey, _ name: ActivityName, _ page: TokenPage, _ found: [Int]
    ) async throws(StoreError) {
        if found.isEmpty { return }
        let key = RedisArgument.string(keys.otherEnvironment(keys.tag(app, name)))
        let fields = found.flatMap { index in
            [RedisArgument.bytes(page.channel(index)), .bytes(Self.hash(page.token(index)))]
        }
        _ = try await redis.run([
            RedisCommand("HSET", [key] + fields),
            RedisCommand("PEXPIRE", [key, .int(RegistryRecord.span(name).retention)]),
        ])
    }

    /// Eight bytes: two tokens of one channel meet in them by no accident.
    static func hash(_ token: some Collection<UInt8>) -> [UInt8] { Array(SHA256Digest(of: token).prefix(8)) }
}
