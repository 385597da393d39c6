internal import COpenSSL

/// A certificate of a key. Its text is what its sender says, until `verify` has found that it leads to a known root.
public struct LeafCertificate: Sendable, Hashable {
    public struct Failure: Error, Hashable, CustomStringConvertible {
        public let description: String
    }

    /// The P-256 key as an uncompressed point: 65 bytes.
    public let publicKey: [UInt8]
    /// The content of the extension. Nil: the certificate has none.
    public let extensionValue: [UInt8]?
    private let der: [UInt8]

    /// Reads it, and checks no signature.
    /// - Parameter extensionID: an object identifier such as `1.2.840.113635.100.8.2`.
    public init(_ der: [UInt8], extensionID: String) throws(Failure) {
        defer { ERR_clear_error() }
        guard let leaf = Self.certificate(der) else { throw Failure(description: "a certificate is not readable") }
        defer { X509_free(leaf) }
        publicKey = try Self.point(leaf)
        extensionValue = Self.content(leaf, extensionID)
        self.der = der
    }

    /// - Parameters:
    ///   - chain: DER, the certificates between this one and the root.
    ///   - root: the only trusted certificate, in PEM.
    ///   - seconds: since 1970. All certificates must be valid then.
    public func verify(through chain: [[UInt8]], to root: [UInt8], at seconds: Int64) throws(Failure) {
        defer { ERR_clear_error() }
        guard let trusted = readCertificate(root) else { throw Failure(description: "the root is no certificate") }
        defer { X509_free(trusted) }
        let certificates = ([der] + chain).compactMap(Self.certificate)
        defer { for certificate in certificates { X509_free(certificate) } }
        guard let leaf = certificates.first, certificates.count == chain.count + 1 else {
            throw Failure(description: "a certificate is not readable")
        }
        try Self.verify(leaf, certificates.dropFirst(), trusted, at: seconds)
    }

    /// The caller owns the certificate. Bytes behind it are refused.
    private static func certificate(_ der: [UInt8]) -> OpaquePointer? {
        der.withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            guard let certificate = d2i_X509(nil, &next, bytes.count) else { return nil }
            guard next == bytes.baseAddress.map({ $0 + bytes.count }) else {
                X509_free(certificate)
                return nil
            }
            return certificate
        }
    }

    private static func verify(
        _ leaf: OpaquePointer, _ between: ArraySlice<OpaquePointer>, _ root: OpaquePointer, at seconds: Int64
    ) throws(Failure) {
        guard let store = X509_STORE_new(), let others = OPENSSL_sk_new_null(), let context = X509_STORE_CTX_new()
        else {
            throw Failure(description: openSSLMessage())
        }
        defer {
            X509_STORE_CTX_free(context)
            OPENSSL_sk_free(others)
            X509_STORE_free(store)
        }
        for certificate in between { OPENSSL_sk_push(others, UnsafeRawPointer(certificate)) }
        guard X509_STORE_add_cert(store, root) == 1, X509_STORE_CTX_init(context, store, leaf, others) == 1 else {
            throw Failure(description: openSSLMessage())
        }
        X509_STORE_CTX_set_time(context, 0, time_t(seconds))
        guard X509_verify_cert(context) == 1 else {
            let error = X509_STORE_CTX_get_error(context)
            throw Failure(description: String(cString: X509_verify_cert_error_string(Int(error))))
        }
    }

    private static func point(_ certificate: OpaquePointer) throws(Failure) -> [UInt8] {
        guard let key = X509_get_pubkey(certificate) else { throw Failure(description: "its key is not readable") }
        // `requireP256` frees a key that it refuses.
        do throws(SigningKeyError) { try P256SigningKey.requireP256(key) } catch {
            throw Failure(description: "\(error)")
        }
        defer { EVP_PKEY_free(key) }
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = EVP_PKEY_get1_encoded_public_key(key, &bytes)
        defer { copenssl_free(bytes) }
        guard let bytes, count == P256PublicKey.pointLength else { throw Failure(description: "its key is compressed") }
        return Array(UnsafeBufferPointer(start: bytes, count: count))
    }

    private static func content(_ certificate: OpaquePointer, _ identifier: String) -> [UInt8]? {
        guard let object = OBJ_txt2obj(identifier, 1) else { return nil }
        defer { ASN1_OBJECT_free(object) }
        guard let found = X509_get_ext(certificate, X509_get_ext_by_OBJ(certificate, object, -1)),
            let content = X509_EXTENSION_get_data(found), let bytes = ASN1_STRING_get0_data(content)
        else { return nil }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(ASN1_STRING_length(content))))
    }
}
