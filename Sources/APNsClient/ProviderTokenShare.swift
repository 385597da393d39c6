/// One provider token for all processes that send with a key. Apple counts how often a key makes new ones, whoever makes
/// them: ten workers that renew each for themselves are nine too many.
public protocol ProviderTokenShare: Sendable {
    /// Which token to use from here on. Asked when a process has none or its own is due, and when APNs has called one
    /// expired; so once an hour or less.
    /// - Parameters:
    ///   - key: names the signing key, without a secret; tokens of different keys are kept apart
    ///   - candidate: a new token, for the case that another is due; nil: the asker may not make one
    ///   - refused: the token that APNs called expired
    ///   - now: seconds since 1970 by the asker's clock
    func agree(
        key: String, candidate: ProviderToken?, refused: ProviderToken?, now: Int
    ) async -> ProviderTokenAgreement
}

public enum ProviderTokenAgreement: Sendable, Hashable {
    /// The candidate, now everyone's, or a token that another process made.
    case use(ProviderToken)
    /// There is none but the refused one, and it is too early for another.
    case none
    /// Nobody could be asked: the asker goes by its own rule.
    case unavailable
}
