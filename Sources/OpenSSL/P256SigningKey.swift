internal import COpenSSL

/// A P-256 private key that signs ES256 (RFC 7518, 3.4). Each app has one, which all its lanes share. Any number of
/// threads may sign with it, each in a context of its own.
public final class P256SigningKey: Sendable {
    /// Freed in `deinit`. Guard: it never changes after `init`, and signing only reads it (openssl-threads(7)).
    nonisolated(unsafe) private let key: OpaquePointer

    /// - Parameter pem: the text of a PKCS#8 file (`-----BEGIN PRIVATE KEY-----`), such as Apple's .p8 files
    public init(pem: [UInt8]) throws(SigningKeyError) {
        let key = try readPrivateKey(pem)
        try Self.requireP256(key)
        self.key = key
    }

    deinit { EVP_PKEY_free(key) }

    /// Signs the SHA-256 of `message`, and returns the 64 bytes r‖s that JWS needs.
    public func es256(_ message: [UInt8]) throws(SigningKeyError) -> [UInt8] {
        guard let context = EVP_MD_CTX_new() else { throw .failed(openSSLMessage()) }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1 else { throw .failed(openSSLMessage()) }
        // A DER signature over P-256 has at most 72 bytes: a SEQUENCE of two INTEGERs of up to 33 bytes.
        var der = [UInt8](repeating: 0, count: 80)
        var length = der.count
        guard EVP_DigestSign(context, &der, &length, message, message.count) == 1 else {
            throw .failed(openSSLMessage())
        }
        guard let raw = Self.raw(der, length) else { throw .failed("malformed ECDSA signature") }
        return raw
    }

    /// The numbers r and s of a signature in DER, 32 bytes each.
    private static func raw(_ der: [UInt8], _ length: Int) -> [UInt8]? {
        let pair = der.withUnsafeBufferPointer { der in
            var start = der.baseAddress
            return d2i_ECDSA_SIG(nil, &start, length)
        }
        guard let pair else { return nil }
        defer { ECDSA_SIG_free(pair) }
        var r = [UInt8](repeating: 0, count: 32)
        var s = r
        guard BN_bn2binpad(ECDSA_SIG_get0_r(pair), &r, 32) == 32, BN_bn2binpad(ECDSA_SIG_get0_s(pair), &s, 32) == 32
        else { return nil }
        return r + s
    }

    /// A new key as PKCS#8 PEM, for demonstrations and tests, because Apple issues the real keys.
    public static func generatePEM() throws(SigningKeyError) -> [UInt8] {
        guard let key = copenssl_generate_p256() else { throw .failed(openSSLMessage()) }
        defer { EVP_PKEY_free(key) }
        let pem = written { PEM_write_bio_PKCS8PrivateKey($0, key, nil, nil, 0, nil, nil) == 1 }
        guard let pem else { throw .failed(openSSLMessage()) }
        return pem
    }

    /// 16 hex digits of the SHA-256 over the public half. They name a key and are no secret.
    public func fingerprint() throws(SigningKeyError) -> String {
        var der: UnsafeMutablePointer<UInt8>?
        let length = i2d_PUBKEY(key, &der)
        guard length > 0, let der else { throw .failed(openSSLMessage()) }
        defer { copenssl_free(der) }
        let digest = SHA256Digest(of: UnsafeBufferPointer(start: der, count: Int(length)))
        return digest.prefix(8).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// Frees a key that is not P-256.
    static func requireP256(_ key: OpaquePointer) throws(SigningKeyError) {
        guard let kind = otherKind(key) else { return }
        EVP_PKEY_free(key)
        throw .notP256(kind)
    }

    /// The kind of a key. Nil for P-256.
    private static func otherKind(_ key: OpaquePointer) -> String? {
        guard EVP_PKEY_get_base_id(key) == EVP_PKEY_EC else { return kindName(key) }
        var group = [CChar](repeating: 0, count: 80)
        var length = 0
        guard EVP_PKEY_get_group_name(key, &group, group.count, &length) == 1 else {
            ERR_clear_error()
            return "EC on an unnamed curve"
        }
        let curve = String(decoding: group.prefix(length).map(UInt8.init(bitPattern:)), as: UTF8.self)
        if curve == "prime256v1" { return nil }
        return ["secp384r1": "P-384", "secp521r1": "P-521"][curve] ?? curve
    }
}

/// Reads a private key in PKCS#8. The caller owns it.
func readPrivateKey(_ pem: [UInt8]) throws(SigningKeyError) -> OpaquePointer {
    guard !pem.isEmpty else { throw .unreadable("the file is empty") }
    let label = try pemLabel(pem)
    switch label {
    case "PRIVATE KEY": break
    case "ENCRYPTED PRIVATE KEY": throw .unreadable("it is encrypted with a passphrase")
    case "EC PRIVATE KEY", "RSA PRIVATE KEY": throw .unreadable("it is a PEM \(label), not PKCS#8")
    default: throw .unreadable("it is a PEM \(label)")
    }
    guard let key = readKey(pem) else {
        ERR_clear_error()
        throw .unreadable("the PEM block does not hold a valid PKCS#8 key")
    }
    return key
}

/// The kind of a key, and its bits for RSA.
func kindName(_ key: OpaquePointer) -> String {
    if EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA { return "RSA \(EVP_PKEY_get_bits(key))" }
    return EVP_PKEY_get0_type_name(key).map { String(cString: $0) } ?? "of unknown kind"
}

/// OpenSSL's oldest error on this thread. The error queue is empty afterwards.
func openSSLMessage() -> String {
    let code = ERR_get_error()
    ERR_clear_error()
    guard code != 0 else { return "unknown error" }
    var text = [CChar](repeating: 0, count: 256)
    ERR_error_string_n(code, &text, text.count)
    return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
}
