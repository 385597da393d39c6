public import LiveActivity
import Redis

/// The provider token (JWT) that all workers of an app send with, so that ten workers are one sender in APNs's eyes and
/// do not renew ten times. What lies here is a bearer token: it sends this app's pushes, for less than an hour.
public struct ProviderTokens: Sendable {
    public struct Token: Sendable, Hashable, CustomStringConvertible {
        public var jwt: String
        /// `iat`: seconds since 1970.
        public var issuedAt: Int

        public init(jwt: String, issuedAt: Int) {
            self.jwt = jwt
            self.issuedAt = issuedAt
        }

        public var description: String { "provider token issued at \(issuedAt)" }
    }

    /// A younger token is used by whoever asks. Below the age at which workers renew, so that one that joins late does
    /// not begin with a token that is about to end.
    static let replacedAfter: Duration = .seconds(40 * 60)
    /// Apple: no more than one renewal in 20 minutes.
    static let leastAfterRefusal: Duration = .seconds(20 * 60)
    /// How far another worker's clock may run ahead.
    static let tolerance: Duration = .seconds(60)
    static let life: Duration = .seconds(55 * 60)

    let redis: RedisClient
    let keys: Keyspace

    /// The token to use: the stored one, or `candidate`, which is stored when the stored one is old, is `refused`, or is
    /// missing. Nil when there is none but `refused` and none may be made. One script.
    /// - Parameters:
    ///   - key: names the signing key; tokens of different keys are kept apart. No secret.
    ///   - now: seconds since 1970 by the caller's clock; the candidate's `iat`
    public func agree(
        _ app: AppKey, key: String, candidate: Token?, refused: Token?, now: Int
    ) async throws(StoreError) -> Token? {
        let reply = try await redis.run([
            RedisCommand(
                Lua.providerToken, keys: [.string(keys.providerToken(app, key))],
                arguments: [
                    .string(candidate?.jwt ?? ""), .int(now), .string(refused?.jwt ?? ""),
                    .int(Self.replacedAfter.components.seconds), .int(Self.leastAfterRefusal.components.seconds),
                    .int(Self.tolerance.components.seconds), .int(Self.life.milliseconds),
                ])
        ])[0]
        guard !reply.isNil else { return nil }
        return try redisErrors { () throws(RedisError) in
            Token(jwt: try reply[0].string(), issuedAt: try reply[1].integer())
        }
    }
}
