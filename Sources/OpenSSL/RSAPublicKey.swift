internal import COpenSSL

/// An RSA public key that checks RS256 signatures (RFC 7518, 3.3). Any number of threads may share it.
public final class RSAPublicKey: Sendable {
    /// Freed in `deinit`. Guard: never changed after `init`; a check only reads it (openssl-threads(7)).
    nonisolated(unsafe) private let key: OpaquePointer

    /// Bits of the modulus. RFC 7518 forbids fewer, and each check with more costs too much.
    private static let bits: ClosedRange<Int32> = 2_048...8_192
    /// rsaEncryption (RFC 3279, 2.3.1) with its parameter NULL.
    private static let algorithm: [UInt8] = [
        0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00,
    ]

    /// A key of its two numbers. Nil for numbers that are no safe key.
    /// - Parameters:
    ///   - modulus: big-endian
    ///   - exponent: big-endian
    public init?(modulus: [UInt8], exponent: [UInt8]) {
        let exponent = Array(exponent.drop { $0 == 0 })
        guard modulus.count <= 1 << 11, (1...4).contains(exponent.count), let last = exponent.last, last & 1 == 1,
            exponent != [1]
        else { return nil }
        let numbers = Self.der(0x30, Self.integer(modulus) + Self.integer(exponent))
        let info = Self.der(0x30, Self.der(0x30, Self.algorithm) + Self.der(0x03, [0] + numbers))
        guard let key = readPublicKey(der: info) else { return nil }
        guard Self.bits.contains(EVP_PKEY_get_bits(key)) else {
            EVP_PKEY_free(key)
            return nil
        }
        self.key = key
    }

    /// The public half of a private key (PKCS#8).
    public init(privatePEM: [UInt8]) throws(SigningKeyError) {
        guard let key = readKey(privatePEM) else {
            ERR_clear_error()
            throw .unreadable("the PEM block does not hold a valid PKCS#8 key")
        }
        guard EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA, Self.bits.contains(EVP_PKEY_get_bits(key)) else {
            EVP_PKEY_free(key)
            throw .unreadable("it is no RSA key of \(Self.bits.lowerBound) to \(Self.bits.upperBound) bits")
        }
        self.key = key
    }

    deinit { EVP_PKEY_free(key) }

    /// A new private key of 2,048 bits as PKCS#8 PEM, for demonstrations and tests. Google issues the real keys.
    public static func generatePrivatePEM() throws(SigningKeyError) -> [UInt8] {
        guard let key = copenssl_generate_rsa(2_048) else { throw .failed(openSSLMessage()) }
        defer { EVP_PKEY_free(key) }
        let pem = written { PEM_write_bio_PKCS8PrivateKey($0, key, nil, nil, 0, nil, nil) == 1 }
        guard let pem else { throw .failed(openSSLMessage()) }
        return pem
    }

    /// Whether the signature (PKCS #1 v1.5) is this key's, over SHA-256 of the message.
    public func isValid(_ signature: [UInt8], for message: [UInt8]) -> Bool {
        isSignature(signature, of: key, for: message)
    }

    private static func integer(_ number: [UInt8]) -> [UInt8] {
        let digits = Array(number.drop { $0 == 0 })
        // A first bit that is set would make it negative.
        return der(0x02, (digits.first ?? 0x80) >= 0x80 ? [0] + digits : digits)
    }

    private static func der(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let (high, low) = (UInt8(truncatingIfNeeded: content.count >> 8), UInt8(truncatingIfNeeded: content.count))
        return [tag] + (content.count < 128 ? [low] : [0x82, high, low]) + content
    }
}

/// Reads a SubjectPublicKeyInfo (RFC 5280, 4.1). The caller owns the key.
func readPublicKey(der: [UInt8]) -> OpaquePointer? {
    let key = der.withUnsafeBufferPointer { bytes in
        var next = bytes.baseAddress
        return d2i_PUBKEY(nil, &next, bytes.count)
    }
    if key == nil { ERR_clear_error() }
    return key
}

/// Whether a signature, in the form that OpenSSL has for the kind of key, is valid over SHA-256 of the message.
func isSignature(_ signature: [UInt8], of key: OpaquePointer, for message: [UInt8]) -> Bool {
    defer { ERR_clear_error() }
    guard let context = EVP_MD_CTX_new() else { return false }
    defer { EVP_MD_CTX_free(context) }
    guard EVP_DigestVerifyInit(context, nil, HashFunction.sha256.pointer, nil, key) == 1 else { return false }
    return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
}
