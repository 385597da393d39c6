internal import COpenSSL
internal import Glibc

/// A certification authority for a simulator or for tests. It has a self-signed certificate, and signs certificates for
/// servers and clients. Keys are P-256, signatures ECDSA with SHA-256.
public final class CertificateAuthority: Sendable {
    /// A certificate and its private key (PKCS#8), both in PEM.
    public struct Identity: Sendable {
        public var certificate: [UInt8]
        public var key: [UInt8]

        public init(certificate: [UInt8], key: [UInt8]) {
            self.certificate = certificate
            self.key = key
        }
    }

    /// Seconds from now. Negative numbers are in the past.
    public typealias Validity = ClosedRange<Int>

    /// Freed in `deinit`. Guard: never changed after `init`; signing only reads it (openssl-threads(7)).
    nonisolated(unsafe) private let certificate: OpaquePointer
    /// Guard: never changed after `init`, like the certificate.
    nonisolated(unsafe) private let key: OpaquePointer

    /// Makes a new authority.
    public init(commonName: String, organization: String? = nil, validity: Validity) throws(TLSError) {
        guard let key = copenssl_generate_p256() else { throw .setup(openSSLMessage()) }
        var names = [("CN", commonName)]
        if let organization { names.append(("O", organization)) }
        let extensions = [
            (NID_basic_constraints, "critical,CA:TRUE,pathlen:0"), (NID_key_usage, "critical,keyCertSign,cRLSign"),
            (NID_subject_key_identifier, "hash"),
        ]
        do throws(TLSError) {
            certificate = try signed(names, key, validity, extensions, issuer: nil, by: key)
        } catch {
            EVP_PKEY_free(key)
            throw error
        }
        self.key = key
    }

    /// Reads a stored authority. Nil if a text is not readable, or if the key does not belong to the certificate.
    public init?(_ kept: Identity) {
        defer { ERR_clear_error() }
        guard let certificate = readCertificate(kept.certificate) else { return nil }
        let key = readKey(kept.key)
        guard let key, X509_check_private_key(certificate, key) == 1 else {
            X509_free(certificate)
            EVP_PKEY_free(key)
            return nil
        }
        self.certificate = certificate
        self.key = key
    }

    deinit {
        X509_free(certificate)
        EVP_PKEY_free(key)
    }

    /// Whether the certificate is valid now and for at least this many seconds.
    public func isValid(forSeconds seconds: Int) -> Bool {
        var end = time(nil) + seconds
        return X509_cmp_current_time(X509_get0_notBefore(certificate)) < 0
            && X509_cmp_time(X509_get0_notAfter(certificate), &end) > 0
    }

    public func identity() throws(TLSError) -> Identity { try pem(certificate, key) }

    /// Makes a key, and a certificate for it that is valid for `hosts` (names and addresses, IPv4 and IPv6).
    /// - Parameter isClient: it is for a client and for a server, instead of a server only
    public func issue(
        commonName: String, hosts: [String], validity: Validity, isClient: Bool = false
    ) throws(TLSError) -> Identity {
        guard let own = copenssl_generate_p256() else { throw .setup(openSSLMessage()) }
        defer { EVP_PKEY_free(own) }
        var extensions = [
            (NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, "critical,digitalSignature"),
            (NID_ext_key_usage, isClient ? "serverAuth,clientAuth" : "serverAuth"),
            (NID_authority_key_identifier, "keyid:always"),
        ]
        if !hosts.isEmpty {
            let names = try hosts.map { (host) throws(TLSError) in try alternativeName(host) }
            extensions.append((NID_subject_alt_name, names.joined(separator: ",")))
        }
        let leaf = try signed([("CN", commonName)], own, validity, extensions, issuer: certificate, by: key)
        defer { X509_free(leaf) }
        return try pem(leaf, own)
    }
}

/// The caller owns the certificate. Without an issuer it signs itself.
private func signed(
    _ subject: [(String, String)], _ subjectKey: OpaquePointer, _ validity: CertificateAuthority.Validity,
    _ extensions: [(Int32, String)], issuer: OpaquePointer?, by key: OpaquePointer
) throws(TLSError) -> OpaquePointer {
    guard let certificate = X509_new() else { throw .setup(openSSLMessage()) }
    let issuer = issuer ?? certificate
    let name = X509_get_subject_name(certificate)
    let isFilled =
        // The number 2 means version 3.
        X509_set_version(certificate, 2) == 1 && setRandomSerial(certificate)
        && X509_gmtime_adj(X509_getm_notBefore(certificate), validity.lowerBound) != nil
        && X509_gmtime_adj(X509_getm_notAfter(certificate), validity.upperBound) != nil
        && X509_set_pubkey(certificate, subjectKey) == 1
        && subject.allSatisfy { field, value in
            X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, value, Int32(value.utf8.count), -1, 0) == 1
        }
        && X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1
        && extensions.allSatisfy { add($0.0, $0.1, to: certificate, issuer: issuer) }
        && X509_sign(certificate, key, EVP_sha256()) > 0
    guard isFilled else {
        X509_free(certificate)
        throw .setup(openSSLMessage())
    }
    return certificate
}

/// 159 bits: 20 bytes at most, and never negative (RFC 5280, 4.1.2.2).
private func setRandomSerial(_ certificate: OpaquePointer) -> Bool {
    guard let number = BN_new() else { return false }
    defer { BN_free(number) }
    return BN_rand(number, 159, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1
        && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nil
}

/// - Parameter value: as in a configuration file of OpenSSL (x509v3_config(5))
private func add(_ identifier: Int32, _ value: String, to certificate: OpaquePointer, issuer: OpaquePointer) -> Bool {
    var context = X509V3_CTX()
    X509V3_set_ctx(&context, issuer, certificate, nil, nil, 0)
    guard let new = X509V3_EXT_nconf_nid(nil, &context, identifier, value) else { return false }
    defer { X509_EXTENSION_free(new) }
    return X509_add_ext(certificate, new, -1) == 1
}

/// Refuses odd names, because a comma or a colon would start another field of the extension.
private func alternativeName(_ host: String) throws(TLSError) -> String {
    if let address = a2i_IPADDRESS(host) {
        ASN1_OCTET_STRING_free(address)
        return "IP:\(host)"
    }
    ERR_clear_error()
    let isPlain = host.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "-._*".utf8.contains(byte)
        }
    }
    guard isPlain, !host.isEmpty else { throw .setup("\(host) is neither a host name nor an address") }
    return "DNS:\(host)"
}

private func pem(_ certificate: OpaquePointer, _ key: OpaquePointer) throws(TLSError) -> CertificateAuthority.Identity {
    guard let certificate = written({ PEM_write_bio_X509($0, certificate) == 1 }),
        let key = written({ PEM_write_bio_PKCS8PrivateKey($0, key, nil, nil, 0, nil, nil) == 1 })
    else { throw .setup(openSSLMessage()) }
    return CertificateAuthority.Identity(certificate: certificate, key: key)
}
