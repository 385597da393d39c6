internal import COpenSSL

/// An RSA private key that signs RS256 (RFC 7518, 3.3), as service accounts of Google have. Any number of threads may
/// sign with it, each in a context of its own.
public final class RSASigningKey: Sendable {
    /// Freed in `deinit`. Guard: it never changes after `init`, and signing only reads it (openssl-threads(7)).
    nonisolated(unsafe) private let key: OpaquePointer

    /// RFC 7518 forbids a shorter modulus.
    private static let leastBits: Int32 = 2_048

    /// - Parameter pem: PKCS#8 (`-----BEGIN PRIVATE KEY-----`)
    public init(pem: [UInt8]) throws(SigningKeyError) {
        let key = try readPrivateKey(pem)
        guard EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA, EVP_PKEY_get_bits(key) >= Self.leastBits else {
            defer { EVP_PKEY_free(key) }
            throw .notRSA(kindName(key))
        }
        self.key = key
    }

    deinit { EVP_PKEY_free(key) }

    /// Signs the SHA-256 of `message` (PKCS #1 v1.5).
    public func rs256(_ message: [UInt8]) throws(SigningKeyError) -> [UInt8] {
        guard let context = EVP_MD_CTX_new() else { throw .failed(openSSLMessage()) }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1 else { throw .failed(openSSLMessage()) }
        var signature = [UInt8](repeating: 0, count: Int(EVP_PKEY_get_size(key)))
        var length = signature.count
        guard EVP_DigestSign(context, &signature, &length, message, message.count) == 1 else {
            throw .failed(openSSLMessage())
        }
        return Array(signature.prefix(length))
    }
}
