public import LiveActivity

/// Shares one provider token among all processes that send with a key. Apple counts the new tokens of a key, whichever
/// process makes them. If ten workers renew, each for itself, nine renewals are too many.
public protocol ProviderTokenShare: Sendable {
    /// Agrees on the token to use from now on. A process asks when it has no token, when its own is due, and when APNs
    /// called one expired, so once an hour or less.
    /// - Parameters:
    ///   - key: names the signing key, without a secret; tokens of different keys are kept apart
    ///   - candidate: a new token, in case another one is due; nil: the caller may not make one
    ///   - refused: the token that APNs called expired
    ///   - now: the time by which the caller dates its tokens, seconds since 1970
    func agree(
        key: String, candidate: ProviderToken?, refused: ProviderToken?, now: Int
    ) async -> ProviderTokenAgreement
}

public enum ProviderTokenAgreement: Sendable, Hashable {
    /// The candidate, which all processes use from now on, or a token that another process made.
    case use(ProviderToken)
    /// There is only the refused token, and it is too early for another one.
    case none
    /// The other processes could not be asked, so the caller follows its own rule.
    case unavailable
}
