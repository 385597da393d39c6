/// The secret that authenticates a project at FCM until its end. All workers of an app share it.
public struct AccessToken: Sendable, Hashable, CustomStringConvertible {
    public let secret: String
    /// Epoch seconds.
    public let endsAt: Int

    public init(secret: String, endsAt: Int) { (self.secret, self.endsAt) = (secret, endsAt) }

    public var description: String { "access token until \(endsAt)" }

    /// Seconds before its end from which another one is wanted. The token is used meanwhile.
    public static let renewal = 300
    /// Seconds before its end from which it is not sent any more: a request may wait, and clocks differ.
    static let margin = 30

    /// Seconds for which the replacement of a refused token stays. If FCM refuses the replacement too, the token's age
    /// is not the reason.
    public static let leastAfterRefusal = 300

    func isGood(at now: Int) -> Bool { now < endsAt - Self.margin }
    func isDue(at now: Int) -> Bool { now >= endsAt - Self.renewal }
}

/// Shares one access token among all processes that send with a service account.
public protocol AccessTokenShare: Sendable {
    /// Agrees on the token to use from now on.
    /// - Parameters:
    ///   - key: names the account and its key, without a secret
    ///   - candidate: a new token, in case another one is due; nil: the caller has none yet
    ///   - refused: the token that FCM refused
    ///   - now: epoch seconds
    func agree(key: String, candidate: AccessToken?, refused: AccessToken?, now: Int) async -> AccessTokenAgreement
}

public enum AccessTokenAgreement: Sendable, Hashable {
    /// The candidate, which all processes use from now on, or a token that another process has.
    case use(AccessToken)
    /// There is none that the caller may use.
    case none
    /// The other processes could not be asked.
    case unavailable
}
