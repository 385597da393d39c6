import OpenSSL
import Testing

@Suite struct DigestTests {
    private static let twoBlocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"

    /// The examples of FIPS 180-4, and the empty message.
    @Test(arguments: [
        ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"), ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (twoBlocks, "84983e441c3bd26ebaae4aa1f95129e5e54670f1"),
    ])
    func `SHA-1 is the standard's`(_ message: String, _ digest: String) {
        let found = SHA1Digest(of: message.utf8)
        #expect(hex(found) == digest)
        #expect(Array(message.utf8).withUnsafeBytes { hex(SHA1Digest(of: $0)) } == digest)
        #expect(UInt32(digest.prefix(8), radix: 16) == found.leadingWord)
    }

    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (twoBlocks, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
    ])
    func `SHA-256 is the standard's`(_ message: String, _ digest: String) {
        #expect(hex(SHA256Digest(of: message.utf8)) == digest)
        // A collection without contiguous storage is copied first.
        #expect(hex(SHA256Digest(of: message.utf8.lazy.map { $0 })) == digest)
        #expect(hex(SHA256Digest(of: ("x" + message).utf8.dropFirst())) == digest)
    }

    /// The cases 1, 2 and 6 of RFC 4231, and one with neither a key nor a message.
    @Test(arguments: [
        (
            [UInt8](repeating: 0x0B, count: 20), "Hi There",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            Array("Jefe".utf8), "what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            [UInt8](repeating: 0xAA, count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
        ([], "", "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"),
    ])
    func `HMAC is the standard's`(_ key: [UInt8], _ message: String, _ code: String) {
        let key = HMACKey(key)
        let found = key.code(for: message.utf8)
        #expect(hex(found) == code)
        #expect(key.isValid(found, for: message.utf8))
    }

    @Test func `a code is valid only whole, for its message and under its key`() {
        let key = HMACKey("key".utf8)
        let code = Array(key.code(for: "message".utf8))
        #expect(key.isValid(code, for: "message".utf8))
        for place in code.indices {
            var other = code
            other[place] ^= 1
            #expect(!key.isValid(other, for: "message".utf8))
        }
        #expect(!key.isValid(code.dropLast(), for: "message".utf8))
        #expect(!key.isValid(code + [0], for: "message".utf8))
        #expect(!key.isValid([], for: "message".utf8))
        #expect(!key.isValid(code, for: "messages".utf8))
        #expect(!HMACKey("Key".utf8).isValid(code, for: "message".utf8))
    }

    @Test func `digests are equal when their messages are`() {
        #expect(SHA256Digest(of: "a".utf8) == SHA256Digest(of: [0x61]))
        #expect(SHA256Digest(of: "a".utf8) != SHA256Digest(of: "b".utf8))
    }

    private func hex(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
