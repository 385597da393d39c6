public import LiveActivity

public enum ProviderTokenAgreement: Sendable, Hashable {
    /// The candidate, which all processes use from now on, or a token that another process made.
    case use(ProviderToken)
    /// There is only the refused token, and it is too early for another one.
    case none
    /// The other processes could not be asked, so the caller follows its own rule.
    case unavailable
}
