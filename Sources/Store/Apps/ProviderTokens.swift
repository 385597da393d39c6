public import LiveActivity
import Redis

/// The provider token (JWT) that all workers of an app share. So ten workers are one sender for APNs and do not renew
/// ten times. The stored value is a bearer token: it can send this app's pushes for less than an hour.
public struct ProviderTokens: Sendable {
    /// A younger token is shared. It is below the age of renewal, so no new worker begins with a token that soon ends.
    static let replacedAfter: Duration = .seconds(25 * 60)
    /// Apple: no more than one renewal in 20 minutes.
    static let leastAfterRefusal: Duration = .seconds(20 * 60)
    /// How far another worker's measurement of Redis's clock may be ahead.
    static let tolerance: Duration = .seconds(60)
    static let life: Duration = .seconds(40 * 60)

    let redis: RedisClient
    let keys: Keyspace

    /// Gives the stored token, or stores and gives `candidate` if the stored one is old, `refused` or missing.
    /// - Parameters:
    ///   - key: names the signing key. Tokens of different keys are kept apart. It is no secret.
    ///   - candidate: nil if the caller may not make a token.
    ///   - refused: the token that APNs called expired, if any.
    ///   - now: seconds since 1970 by Redis's clock as the caller measured it, when the candidate was signed.
    /// - Returns: nil if there is no token and none may be made.
    public func agree(
        _ app: AppKey, key: String, candidate: ProviderToken?, refused: ProviderToken?, now: Int
    ) async throws(StoreError) -> ProviderToken? {
        let reply = try await redis.run(
            Lua.providerToken, keys: ["jwt": keys.providerToken(app, key)],
            [
                "candidate": .string(candidate?.jwt ?? ""), "now": .int(now), "refused": .string(refused?.jwt ?? ""),
                "replacedAfter": .int(Self.replacedAfter.components.seconds),
                "leastAfterRefusal": .int(Self.leastAfterRefusal.components.seconds),
                "tolerance": .int(Self.tolerance.components.seconds), "life": .int(Self.life.milliseconds),
            ])
        guard !reply.isNil else { return nil }
        let (jwt, issuedAt) = try reply.values(.string("jwt"), .integer("issue time"))
        return ProviderToken(jwt: jwt, issuedAt: issuedAt)
    }
}
