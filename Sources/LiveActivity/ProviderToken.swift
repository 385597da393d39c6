/// The JWT that authenticates one team at APNs. Its text is a credential: it goes into one header and into Redis, where
/// all workers of an app share it.
public struct ProviderToken: Sendable, Hashable, CustomStringConvertible {
    public let jwt: String
    /// When it was signed, epoch seconds. Its `iat` may be earlier.
    public let issuedAt: Int

    public init(jwt: String, issuedAt: Int) { (self.jwt, self.issuedAt) = (jwt, issuedAt) }

    public var description: String { "provider token issued at \(issuedAt)" }
}
