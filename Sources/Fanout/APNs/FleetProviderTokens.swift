public import APNsClient
public import LiveActivity
public import Store

/// One app's provider token, which all workers share through Redis. Without Redis each worker uses its own token.
public struct FleetProviderTokens: ProviderTokenShare {
    let tokens: ProviderTokens
    let app: AppKey

    public init(_ store: Store, app: AppKey) { (tokens, self.app) = (store.providerTokens, app) }

    public func agree(
        key: String, candidate: ProviderToken?, refused: ProviderToken?, now: Int
    ) async -> ProviderTokenAgreement {
        do throws(StoreError) {
            let agreed = try await tokens.agree(app, key: key, candidate: candidate, refused: refused, now: now)
            return agreed.map(ProviderTokenAgreement.use) ?? .none
        } catch { return .unavailable }
    }
}
