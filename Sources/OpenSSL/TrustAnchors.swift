internal import COpenSSL

/// The label of a PEM block.
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

/// Root certificates in PEM. They are checked once at start, so that a wrong file is a configuration error and not a
/// failed handshake later.
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
