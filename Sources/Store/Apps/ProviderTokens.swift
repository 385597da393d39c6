public import LiveActivity
import Redis

/// The bearer token that all workers share for a platform: APNs's provider token (JWT) of an app, or the access token
/// of a project of Google. So ten workers are one sender for APNs and do not renew ten times. The stored value can send
/// pushes of this app or project for an hour at most.
public struct ProviderTokens: Sendable {
    /// How long a token is shared.
    public struct Rule: Sendable, Hashable {
        /// Seconds. A younger token is shared.
        var replacedAfter: Int
        /// Seconds for which a token stays that replaced a refused one.
        var leastAfterRefusal: Int

        public init(replacedAfter: Int, leastAfterRefusal: Int) {
            (self.replacedAfter, self.leastAfterRefusal) = (replacedAfter, leastAfterRefusal)
        }

        /// A token is shared below its age of renewal, so no new worker begins with a token that soon ends. Apple wants
        /// no more than one renewal in 20 minutes.
        public static let apns = Rule(replacedAfter: 25 * 60, leastAfterRefusal: 20 * 60)
    }

    /// How far another worker's measurement of Redis's clock may be ahead.
    static let tolerance: Duration = .seconds(60)
    /// How long a token is kept that nobody asks for, beyond the age of its replacement.
    static let spare: Duration = .seconds(15 * 60)

    let redis: RedisClient
    let keys: Keyspace

    /// Gives the stored token, or stores and gives `candidate` if the stored one is old, `refused` or missing.
    /// - Parameters:
    ///   - key: names the signing key. Tokens of different keys are kept apart. It is no secret.
    ///   - candidate: nil if the caller may not make a token.
    ///   - refused: the token that APNs called expired, if any.
    ///   - now: seconds since 1970 by Redis's clock as the caller measured it.
    /// - Returns: nil if there is no token and none may be made.
    public func agree(
        _ app: AppKey, key: String, candidate: ProviderToken?, refused: ProviderToken?, now: Int,
        _ rule: Rule = .apns
    ) async throws(StoreError) -> ProviderToken? {
        try await agree(keys.providerToken(app, key), candidate, refused, now, rule)
    }

    /// Does the same for an account at a platform, whichever apps send with it.
    public func agree(
        _ account: PlatformAccount, key: String, candidate: ProviderToken?, refused: ProviderToken?, now: Int,
        _ rule: Rule
    ) async throws(StoreError) -> ProviderToken? {
        try await agree(keys.accessToken(account, key), candidate, refused, now, rule)
    }

    private func agree(
        _ place: RedisKey, _ candidate: ProviderToken?, _ refused: ProviderToken?, _ now: Int, _ rule: Rule
    ) async throws(StoreError) -> ProviderToken? {
        let reply = try await redis.run(
            Lua.providerToken, keys: ["jwt": place],
            [
                "candidate": .string(candidate?.jwt ?? ""), "issued": .int(candidate?.issuedAt ?? now),
                "now": .int(now), "refused": .string(refused?.jwt ?? ""), "replacedAfter": .int(rule.replacedAfter),
                "leastAfterRefusal": .int(rule.leastAfterRefusal),
                "tolerance": .int(Self.tolerance.components.seconds),
                "life": .int(Duration.seconds(rule.replacedAfter).milliseconds + Self.spare.milliseconds),
            ])
        guard !reply.isNil else { return nil }
        let (jwt, issuedAt) = try reply.values(.string("jwt"), .integer("issue time"))
        return ProviderToken(jwt: jwt, issuedAt: issuedAt)
    }
}
