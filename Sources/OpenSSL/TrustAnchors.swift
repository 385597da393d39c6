internal import COpenSSL

/// Root certificates in PEM, checked once at start, so that a wrong file is a configuration error.
public enum TrustAnchors {
    /// How many X.509 certificates the text holds. Reading stops at the first malformed one.
    public static func count(pem: [UInt8]) -> Int {
        reading(pem, limit: 16 << 20) { bio in
            defer { ERR_clear_error() }
            var count = 0
            while let certificate = PEM_read_bio_X509(bio, nil, noPassword, nil) {
                X509_free(certificate)
                count += 1
            }
            return count
        } ?? 0
    }
}
