/// SKELETON. A P-256 private key that signs ES256.
public enum SigningKeyError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Not PEM, not PKCS#8, encrypted, …: says what was found.
    case unreadable(String)
    /// A private key of another kind: names it (`RSA 2048`, `P-384`).
    case notP256(String)
    public var description: String { fatalError() }
}

public final class P256SigningKey: Sendable {
    public init(pem: [UInt8]) throws(SigningKeyError) { fatalError() }
    /// The 64-byte r‖s form that JWS wants.
    public func es256(_ message: [UInt8]) throws(SigningKeyError) -> [UInt8] { fatalError() }
}
