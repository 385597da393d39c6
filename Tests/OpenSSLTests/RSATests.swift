import Foundation
import OpenSSL
import TestSupport
import Testing

/// Signatures of the program `openssl`, so that ours cannot be wrong in the same way.
@Suite struct RSATests {
    @Test func `a signature of openssl is valid, and no other`() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.path("key.pem")
        let options = ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", file]
        _ = try await ChildProcess.run(["openssl", "genpkey"] + options)
        let text = try await ChildProcess.run(["openssl", "rsa", "-in", file, "-modulus", "-noout"]).out
        let digits = text.drop { $0 != "=" }.dropFirst().prefix { !$0.isWhitespace }
        let modulus = stride(from: 0, to: digits.count, by: 2).compactMap {
            UInt8(digits.dropFirst($0).prefix(2), radix: 16)
        }
        let key = try #require(RSAPublicKey(modulus: modulus, exponent: [1, 0, 1]))
        let padded = try #require(RSAPublicKey(modulus: [0] + modulus, exponent: [0, 1, 0, 1]))
        let message = Array("a message".utf8)
        try directory.write("message", message)
        _ = try await ChildProcess.run(
            ["openssl", "dgst", "-sha256", "-sign", file, "-out", directory.path("sig"), directory.path("message")])
        let signature = Array(try Data(contentsOf: URL(fileURLWithPath: directory.path("sig"))))
        #expect(key.isValid(signature, for: message) && padded.isValid(signature, for: message))
        #expect(!key.isValid(signature, for: message + [0]) && !key.isValid([], for: message))
        #expect(!key.isValid(signature + [0], for: message))
        for place in [0, 100, 255] {
            var other = signature
            other[place] ^= 1
            #expect(!key.isValid(other, for: message))
        }
        #expect(RSAPublicKey(modulus: Array(modulus.prefix(128)), exponent: [1, 0, 1]) == nil, "1,024 bits")
        for exponent: [UInt8] in [[], [1], [0, 1], [2], [1, 0, 0], [1, 0, 0, 0, 1]] {
            #expect(RSAPublicKey(modulus: modulus, exponent: exponent) == nil, "\(exponent)")
        }
        for modulus: [UInt8] in [[], [0], [UInt8](repeating: 0xFF, count: 1_025), [UInt8](repeating: 1, count: 5_000)] {
            #expect(RSAPublicKey(modulus: modulus, exponent: [1, 0, 1]) == nil)
        }
    }

    @Test func `a generated key signs with openssl, and its public half checks`() async throws {
        let directory = try TemporaryDirectory()
        let pem = try RSAPublicKey.generatePrivatePEM()
        let message = Array("a message".utf8)
        try directory.write("key.pem", pem)
        try directory.write("message", message)
        let paths = ["key.pem", "sig", "message"].map(directory.path)
        _ = try await ChildProcess.run(["openssl", "dgst", "-sha256", "-sign", paths[0], "-out", paths[1], paths[2]])
        let signature = Array(try Data(contentsOf: URL(fileURLWithPath: paths[1])))
        #expect(try RSAPublicKey(privatePEM: pem).isValid(signature, for: message))
        #expect(try !RSAPublicKey(privatePEM: RSAPublicKey.generatePrivatePEM()).isValid(signature, for: message))
        for text in [[], Array("x".utf8), try P256SigningKey.generatePEM()] {
            #expect(throws: SigningKeyError.self) { try RSAPublicKey(privatePEM: text) }
        }
    }
}
