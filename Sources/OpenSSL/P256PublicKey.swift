internal import COpenSSL

/// A P-256 public key that checks ES256 signatures (RFC 7518, 3.4). Any number of threads may share it.
public final class P256PublicKey: Sendable {
    /// Freed in `deinit`. Guard: never changed after `init`; a check only reads it (openssl-threads(7)).
    nonisolated(unsafe) private let key: OpaquePointer

    /// - Parameter pem: a public key (`-----BEGIN PUBLIC KEY-----`), or a private key, whose public half is used
    public init(pem: [UInt8]) throws(SigningKeyError) {
        let label = try pemLabel(pem)
        let read = label == "PUBLIC KEY" ? PEM_read_bio_PUBKEY : PEM_read_bio_PrivateKey
        guard let key = reading(pem, { read($0, nil, noPassword, nil) }) else {
            ERR_clear_error()
            throw .unreadable("it is a PEM \(label) that holds no valid key")
        }
        try P256SigningKey.requireP256(key)
        self.key = key
    }

    /// Bytes of an uncompressed point: 4, x, y.
    public static let pointLength = 65
    /// The header of a SubjectPublicKeyInfo (RFC 5480) whose point is of P-256 and uncompressed.
    private static let header: [UInt8] = [
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48,
        0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
    ]

    /// - Parameter point: uncompressed
    public init(point: [UInt8]) throws(SigningKeyError) {
        guard point.count == Self.pointLength, let key = readPublicKey(der: Self.header + point) else {
            throw .unreadable("it is no point of P-256")
        }
        self.key = key
    }

    deinit { EVP_PKEY_free(key) }

    /// Whether the signature is this key's, over SHA-256 of the message. Only r‖s of 32 bytes each is valid.
    public func isValid(_ signature: [UInt8], for message: [UInt8]) -> Bool {
        Self.der(signature).map { isValid(der: $0, for: message) } ?? false
    }

    /// Whether a signature in DER (RFC 3279, 2.2.3) is right.
    public func isValid(der: [UInt8], for message: [UInt8]) -> Bool { isSignature(der, of: key, for: message) }

    private static func der(_ raw: [UInt8]) -> [UInt8]? {
        guard raw.count == 64, let pair = ECDSA_SIG_new() else { return nil }
        defer { ECDSA_SIG_free(pair) }
        let numbers = raw.withUnsafeBufferPointer { raw in
            (BN_bin2bn(raw.baseAddress, 32, nil), BN_bin2bn(raw.baseAddress.map { $0 + 32 }, 32, nil))
        }
        // The pair owns both numbers, but only after success.
        guard ECDSA_SIG_set0(pair, numbers.0, numbers.1) == 1 else {
            BN_free(numbers.0)
            BN_free(numbers.1)
            return nil
        }
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = i2d_ECDSA_SIG(pair, &bytes)
        guard count > 0, let bytes else { return nil }
        defer { copenssl_free(bytes) }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    }
}
