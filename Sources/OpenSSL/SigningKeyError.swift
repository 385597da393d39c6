/// Why a signing key cannot be used. The error never holds a byte of the key.
public enum SigningKeyError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The file is not PEM, not PKCS#8, encrypted and so on. The text says what was found.
    case unreadable(String)
    /// A private key of another kind, which the text names (`RSA 2048`, `P-384`).
    case notP256(String)
    /// A private key that is not RSA, or too short.
    case notRSA(String)
    /// OpenSSL failed to sign or to make a key, with this error text.
    case failed(String)

    public var description: String {
        switch self {
        case .unreadable(let found):
            "the signing key is unreadable: \(found); expected the .p8 file that Apple issued"
                + " (PEM that begins with -----BEGIN PRIVATE KEY-----)"
        case .notP256(let kind):
            "the signing key is \(kind), not P-256; expected the .p8 file that Apple issued for APNs"
        case .notRSA(let kind): "the signing key is \(kind), not RSA of 2048 bits or more"
        case .failed(let message): "OpenSSL: \(message)"
        }
    }
}
