internal import COpenSSL

/// Lets `read` read a text in PEM. Nil if the text is longer than `limit` bytes.
func reading<Value>(_ pem: [UInt8], limit: Int = 1 << 20, _ read: (OpaquePointer) -> Value?) -> Value? {
    pem.withUnsafeBytes { bytes in
        guard pem.count <= limit, let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count)) else { return nil }
        defer { BIO_free(bio) }
        return read(bio)
    }
}

/// The caller owns the certificate.
func readCertificate(_ pem: [UInt8]) -> OpaquePointer? {
    reading(pem) { PEM_read_bio_X509($0, nil, noPassword, nil) }
}

/// The certificates behind the first one. The caller owns them. Reading stops at the first malformed one.
func readChain(_ pem: [UInt8]) -> [OpaquePointer] {
    reading(pem) { bio in
        defer { ERR_clear_error() }
        var chain: [OpaquePointer] = []
        while let certificate = PEM_read_bio_X509(bio, nil, noPassword, nil) { chain.append(certificate) }
        if let first = chain.first {
            X509_free(first)
            chain.removeFirst()
        }
        return chain
    } ?? []
}

/// The caller owns the key.
func readKey(_ pem: [UInt8]) -> OpaquePointer? { reading(pem) { PEM_read_bio_PrivateKey($0, nil, noPassword, nil) } }

/// A password callback that gives none, because OpenSSL's default would ask on the terminal.
let noPassword: @convention(c) (UnsafeMutablePointer<CChar>?, Int32, Int32, UnsafeMutableRawPointer?) -> Int32 = {
    _, _, _, _ in 0
}

/// The bytes that `write` writes. Nil if it fails.
func written(_ write: (OpaquePointer) -> Bool) -> [UInt8]? {
    guard let bio = BIO_new(BIO_s_mem()) else { return nil }
    defer { BIO_free(bio) }
    guard write(bio) else { return nil }
    var bytes: UnsafeMutablePointer<CChar>?
    let count = copenssl_bio_contents(bio, &bytes)
    return Array(UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count))
}

/// The label of the first `-----BEGIN label-----`.
func pemLabel(_ pem: [UInt8]) throws(SigningKeyError) -> String {
    guard pem.count <= 1 << 20 else { throw .unreadable("it is larger than 1 MiB") }
    let begin = Array("-----BEGIN ".utf8)
    for start in pem.indices where pem[start...].starts(with: begin) {
        let label = pem[(start + begin.count)...].prefix(40).prefix { $0 != UInt8(ascii: "-") && $0 >= 0x20 }
        return String(decoding: label, as: UTF8.self)
    }
    throw .unreadable("no PEM block was found")
}
