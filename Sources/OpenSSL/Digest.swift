internal import COpenSSL

/// The SHA-256 (FIPS 180-4) of a message: 32 bytes. Comparing two digests takes the same time wherever they differ.
public struct SHA256Digest: Sendable, Equatable, RandomAccessCollection {
    private var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

    public init(of message: some Collection<UInt8>) {
        withUnsafeMutableBytes(of: &words) { own in
            withBytes(of: message) { HashFunction.sha256.hash($0, into: own) }
        }
    }

    /// - Parameter fill: writes all 32 bytes
    init(filledBy fill: (UnsafeMutableRawBufferPointer) -> Void) { withUnsafeMutableBytes(of: &words, fill) }

    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try Swift.withUnsafeBytes(of: words, body)
    }

    public static func == (one: Self, other: Self) -> Bool {
        one.withUnsafeBytes { one in other.withUnsafeBytes { isEqual(one, $0) } }
    }

    public var startIndex: Int { 0 }
    public var endIndex: Int { 32 }
    public subscript(index: Int) -> UInt8 { withUnsafeBytes { $0[index] } }
}

/// The SHA-1 (FIPS 180-4) of a message: 20 bytes, for positions and names that Redis computes too, never for security.
public struct SHA1Digest: Sendable, RandomAccessCollection {
    private var words: (UInt32, UInt32, UInt32, UInt32, UInt32) = (0, 0, 0, 0, 0)

    public init(of message: some Collection<UInt8>) {
        withUnsafeMutableBytes(of: &words) { own in
            withBytes(of: message) { HashFunction.sha1.hash($0, into: own) }
        }
    }

    public init(of message: UnsafeRawBufferPointer) {
        withUnsafeMutableBytes(of: &words) { HashFunction.sha1.hash(message, into: $0) }
    }

    /// The first four bytes as a big-endian number.
    public var leadingWord: UInt32 { UInt32(bigEndian: words.0) }

    public var startIndex: Int { 0 }
    public var endIndex: Int { 20 }
    public subscript(index: Int) -> UInt8 { withUnsafeBytes(of: words) { $0[index] } }
}

/// A secret that authenticates messages: HMAC-SHA256 (RFC 2104).
public struct HMACKey: Sendable {
    private let secret: [UInt8]

    public init(_ secret: some Sequence<UInt8>) { self.secret = Array(secret) }

    public func code(for message: some Collection<UInt8>) -> SHA256Digest {
        SHA256Digest { code in
            withBytes(of: message) { message in
                let result = HMAC(
                    HashFunction.sha256.pointer, secret, Int32(secret.count),
                    // OpenSSL needs an address even for an empty message.
                    (message.baseAddress ?? UnsafeRawPointer(code.baseAddress))?.assumingMemoryBound(to: UInt8.self),
                    message.count, code.assumingMemoryBound(to: UInt8.self).baseAddress, nil)
                precondition(result != nil, "HMAC-SHA256 fails only without memory")
            }
        }
    }

    /// Whether `code` is right. It takes the same time wherever the two codes differ.
    public func isValid(_ code: some Collection<UInt8>, for message: some Collection<UInt8>) -> Bool {
        self.code(for: message).withUnsafeBytes { own in withBytes(of: code) { isEqual(own, $0) } }
    }
}

/// The lengths are public, but the contents are secret.
private func isEqual(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
    one.count == other.count && CRYPTO_memcmp(one.baseAddress, other.baseAddress, one.count) == 0
}

private func withBytes<Result>(
    of message: some Collection<UInt8>, _ body: (UnsafeRawBufferPointer) -> Result
) -> Result {
    message.withContiguousStorageIfAvailable { body(UnsafeRawBufferPointer($0)) }
        ?? Array(message).withUnsafeBytes(body)
}

/// One of OpenSSL's hash functions, fetched once and never freed: a look-up costs more than hashing a short message.
struct HashFunction: Sendable {
    static let sha1 = HashFunction("SHA1")
    static let sha256 = HashFunction("SHA256")

    /// Guard: an EVP_MD never changes after it is fetched (EVP_MD_fetch(3)), and lives as long as the process.
    nonisolated(unsafe) let pointer: OpaquePointer

    private init(_ name: String) {
        guard let pointer = EVP_MD_fetch(nil, name, nil) else {
            preconditionFailure("OpenSSL has no \(name): \(openSSLMessage())")
        }
        self.pointer = pointer
    }

    /// Writes the hash of a message into `digest`, which has room for the function's length.
    func hash(_ message: UnsafeRawBufferPointer, into digest: UnsafeMutableRawBufferPointer) {
        let bytes = digest.assumingMemoryBound(to: UInt8.self).baseAddress
        let result = EVP_Digest(message.baseAddress, message.count, bytes, nil, pointer, nil)
        precondition(result == 1, "hashing fails only without memory")
    }
}
