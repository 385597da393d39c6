internal import COpenSSL

/// What a `PEM` block says it is.
enum PEMLabel {
    /// The label of the first `-----BEGIN label-----`; nil when there is none.
    static func first(in pem: [UInt8]) -> String? {
        let begin = Array("-----BEGIN ".utf8)
        guard pem.count > begin.count else { return nil }
        for start in 0..<(pem.count - begin.count) where pem[start..<(start + begin.count)].elementsEqual(begin) {
            let label = pem[(start + begin.count)...].prefix(40).prefix { $0 != UInt8(ascii: "-") && $0 >= 0x20 }
            return String(decoding: label, as: UTF8.self)
        }
        return nil
    }
}

/// Roots of trust in PEM: checked once at start, so that a wrong file is an error of the configuration and not a
/// handshake that fails later.
public enum TrustAnchors {
    /// How many X.509 certificates the text holds; reading stops at the first that is malformed.
    public static func count(pem: [UInt8]) -> Int {
        guard !pem.isEmpty, pem.count <= 16 << 20, let bio = BIO_new_mem_buf(pem, Int32(pem.count)) else { return 0 }
        defer { BIO_free(bio) }
        var count = 0
        while let certificate = PEM_read_bio_X509(bio, nil, { _, _, _, _ in 0 }, nil) {
            X509_free(certificate)
            count += 1
        }
        ERR_clear_error()
        return count
    }
}
