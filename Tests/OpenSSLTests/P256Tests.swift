import Foundation
import OpenSSL
import TestSupport
import Testing

/// Published signatures, so that our signing and our checking cannot be wrong in the same way.
@Suite struct P256Tests {
    /// RFC 6979, A.2.5, with SHA-256. The second has an s of 31 bytes.
    @Test(arguments: [
        (
            "sample",
            "EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716"
                + "F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8"
        ),
        (
            "test",
            "F1ABB023518351CD71D881567B1EA663ED3EFCF6C5132B354F28D3B0B7D38367"
                + "019F4113742A2B14BD25926B49C649155F267E60D3814B4C0CC84250E46F0083"
        ),
    ])
    func `a signature of RFC 6979 is valid`(_ message: String, _ signature: String) throws {
        let key = try publicKey(
            x: "60FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6",
            y: "7903FE1008B8BC99A41AE9E95628BC64F2F1B20C2D7E9F5177A3C294D4462299")
        let signature = bytes(signature)
        #expect(key.isValid(signature, for: Array(message.utf8)))
        for place in signature.indices {
            var other = signature
            other[place] ^= 0x40
            #expect(!key.isValid(other, for: Array(message.utf8)))
        }
        #expect(!key.isValid(signature, for: Array((message + "s").utf8)))
        #expect(!key.isValid(Array(signature.suffix(32) + signature.prefix(32)), for: Array(message.utf8)))
    }

    @Test func `the token of RFC 7515, A.3, is valid`() throws {
        let key = try publicKey(
            x: "7FCDCE2770F6C45D4183CBEE6FDB4B7B580733357BE9EF13BACF6E3C7BD15445",
            y: "C7F144CD1BBD9B7E872CDFEDB9EEB9F4B3695D6EA90B24AD8A4623288588E5AD")
        let signed =
            "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt"
            + "cGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
        let signature = bytes(
            "0ED1215379636C483C2F7F155807D402A3B228033AF97C7E17819AC3169EA665"
                + "C50A07D38C3C70E5D8F12DAF084A5480A66590C5F293509A8F3F7F8A83A354D5")
        #expect(key.isValid(signature, for: Array(signed.utf8)))
    }

    @Test(arguments: [[], [UInt8](repeating: 0, count: 64), [UInt8](repeating: 0xFF, count: 64), [1], [0x30, 6, 2, 1]])
    func `no signature is not valid`(_ signature: [UInt8]) throws {
        let key = try P256PublicKey(pem: P256SigningKey.generatePEM())
        #expect(!key.isValid(signature, for: []))
    }

    /// The program `openssl` writes the public key.
    @Test func `a public key is read, from itself and from the private one`() async throws {
        let pem = try P256SigningKey.generatePEM()
        let signature = try P256SigningKey(pem: pem).es256([1, 2, 3])
        let directory = try TemporaryDirectory()
        try directory.write("key.p8", pem)
        let text = try await ChildProcess.run(["openssl", "pkey", "-in", directory.path("key.p8"), "-pubout"]).out
        #expect(text.hasPrefix("-----BEGIN PUBLIC KEY-----\n"))
        #expect(try P256PublicKey(pem: Array(text.utf8)).isValid(signature, for: [1, 2, 3]))
        #expect(try P256PublicKey(pem: pem).isValid(signature, for: [1, 2, 3]))
        let other = try P256PublicKey(pem: P256SigningKey.generatePEM())
        #expect(!other.isValid(signature, for: [1, 2, 3]))
    }

    @Test(arguments: ["", "nonsense", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"])
    func `a text without a key is refused`(_ text: String) {
        #expect(throws: SigningKeyError.self) { try P256PublicKey(pem: Array(text.utf8)) }
    }

    /// SubjectPublicKeyInfo. The bytes before the point are the same for all keys on this curve (RFC 5480).
    private func publicKey(x: String, y: String) throws -> P256PublicKey {
        let der = bytes("3059301306072A8648CE3D020106082A8648CE3D030107034200" + "04" + x + y)
        let text = "-----BEGIN PUBLIC KEY-----\n\(Data(der).base64EncodedString())\n-----END PUBLIC KEY-----\n"
        return try P256PublicKey(pem: Array(text.utf8))
    }

    private func bytes(_ hex: String) -> [UInt8] {
        stride(from: 0, to: hex.utf8.count, by: 2).compactMap { UInt8(hex.dropFirst($0).prefix(2), radix: 16) }
    }
}
