import OpenSSL

/// How many buckets a name has, and which of them a channel belongs to: linear hashing, which grows by one bucket.
///
/// P is the largest power of two <= count. Hashes are taken modulo 2P if that bucket exists already, else modulo P. A
/// channel never leaves its class (hash modulo P). `ScanPosition` relies on that.
package struct BucketCount: Sendable, Hashable {
    /// Field `n` is absent. The hash is not needed, and no fingerprint is kept.
    package static let one = BucketCount(buckets: 1, fingerprint: "")
    /// About 1.5 billion tokens. A higher count is considered corrupt.
    package static let maximum = 1 << 24
    /// A name of so many buckets is large: some 11,500 tokens. `FollowingIndex` says what follows from that.
    package static let large = 128
    /// The most buckets that a guess makes. To read as many empty ones takes Redis about 10 ms.
    private static let mostGuessed = 1 << 14

    package let buckets: Int
    /// Fingerprint of the hash key by which the records were placed.
    package let fingerprint: String

    /// The number of buckets for a small place that this many tokens are about to join. A power of two makes all
    /// buckets alike: at the end they have 50 to 100 tokens each, so that few of them divide (`Buckets.threshold`).
    package static func number(for tokens: Int) -> Int {
        // One that is not divided.
        guard tokens > 128 else { return 1 }
        var number = 2
        while number < mostGuessed, tokens > 100 * number { number *= 2 }
        return number
    }

    package init(buckets: Int, fingerprint: String) {
        self.buckets = buckets
        self.fingerprint = fingerprint
    }
}

extension BucketCount {
    /// Reads field `n` of a root: `<buckets>:<fingerprint>`, or `1`, which the scripts return for an absent one.
    package init?(stored: some Collection<UInt8>) {
        if stored.count == 1, stored.first == UInt8(ascii: "1") {
            self = .one
            return
        }
        let text = String(decoding: stored, as: UTF8.self)
        guard let colon = text.firstIndex(of: ":"), let buckets = StoredNumber.read(text[..<colon]),
            (2...Self.maximum).contains(buckets)
        else { return nil }
        self.init(buckets: buckets, fingerprint: String(text[text.index(after: colon)...]))
    }

    package var stored: String { buckets == 1 ? "1" : "\(buckets):\(fingerprint)" }
    /// log2 of P.
    package var level: Int { Int.bitWidth - 1 - buckets.leadingZeroBitCount }

    package func bucket(of hash: UInt32) -> Int {
        let power = 1 << level
        let bucket = Int(hash) & (2 * power - 1)
        return bucket < buckets ? bucket : bucket & (power - 1)
    }

    /// The bucket that is divided next. Its upper half goes to the bucket with number `buckets`.
    package var nextSource: Int { buckets - (1 << level) }

    package func grown(by key: RegistryHashKey) -> BucketCount {
        BucketCount(buckets: buckets + 1, fingerprint: key.fingerprint)
    }
}

extension UInt32 {
    /// All 32 bits in the opposite order: a hash's position in a scan.
    package var bitReversed: UInt32 {
        var value = self.byteSwapped
        value = (value >> 4) & 0x0F0F_0F0F | (value & 0x0F0F_0F0F) << 4
        value = (value >> 2) & 0x3333_3333 | (value & 0x3333_3333) << 2
        return (value >> 1) & 0x5555_5555 | (value & 0x5555_5555) << 1
    }
}

/// 16 random bytes, made once and kept in Redis, so that no client aims ids at one bucket. Scripts have SHA-1 too.
package struct RegistryHashKey: Sendable, Hashable {
    package let bytes: [UInt8]
    /// Kept beside each bucket count. It shows that a key was lost or replaced before that does harm.
    package let fingerprint: String

    package init(bytes: [UInt8]) {
        self.bytes = bytes
        fingerprint = String(SHA1Digest(of: bytes + [0x66]).leadingWord, radix: 16)
    }

    package static func random() -> RegistryHashKey {
        RegistryHashKey(bytes: (0..<16).map { _ in .random(in: 0...255) })
    }

    /// First four bytes, big-endian, of SHA-1(key ‖ channel in its stored form).
    package func hash(_ channel: UnsafeRawBufferPointer) -> UInt32 {
        withUnsafeTemporaryAllocation(byteCount: bytes.count + channel.count, alignment: 1) { buffer in
            buffer.copyBytes(from: bytes)
            UnsafeMutableRawBufferPointer(rebasing: buffer[bytes.count...]).copyMemory(from: channel)
            return SHA1Digest(of: UnsafeRawBufferPointer(buffer)).leadingWord
        }
    }

    package func hash(_ channel: [UInt8]) -> UInt32 { channel.withUnsafeBytes { hash($0) } }
}
