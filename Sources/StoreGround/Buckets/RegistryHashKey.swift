import OpenSSL

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
    package func hash(_ channel: some Collection<UInt8>) -> UInt32 {
        withUnsafeTemporaryAllocation(byteCount: bytes.count + channel.count, alignment: 1) { buffer in
            buffer.copyBytes(from: bytes)
            UnsafeMutableRawBufferPointer(rebasing: buffer[bytes.count...]).copyBytes(from: channel)
            return SHA1Digest(of: UnsafeRawBufferPointer(buffer)).leadingWord
        }
    }
}
