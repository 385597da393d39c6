public import FCMClient
import LiveActivity
public import Store

/// The access token of a project's service account. All workers of all apps that send with it share it through Redis.
/// Without Redis each worker gets its own.
public struct FleetAccessTokens: AccessTokenShare {
    /// Seconds. The store knows a token by the time an hour before its end, which is when Google gave it out.
    private static let life = 3_600
    private static let rule = ProviderTokens.Rule(
        replacedAfter: life - AccessToken.renewal, leastAfterRefusal: AccessToken.leastAfterRefusal)

    let tokens: ProviderTokens
    let account: PlatformAccount

    public init(_ store: Store, project: String) {
        (tokens, account) = (store.providerTokens, PlatformAccount(project, .android))
    }

    public func agree(
        key: String, candidate: AccessToken?, refused: AccessToken?, now: Int
    ) async -> AccessTokenAgreement {
        func stored(_ token: AccessToken) -> ProviderToken {
            ProviderToken(jwt: token.secret, issuedAt: token.endsAt - Self.life)
        }
        do throws(StoreError) {
            let agreed = try await tokens.agree(
                account, key: key, candidate: candidate.map(stored), refused: refused.map(stored), now: now, Self.rule)
            return agreed.map { .use(AccessToken(secret: $0.jwt, endsAt: $0.issuedAt + Self.life)) } ?? .none
        } catch { return .unavailable }
    }
}
