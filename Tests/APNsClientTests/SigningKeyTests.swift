import Crypto
import Foundation
import OpenSSL
import TestSupport
import Testing

@Suite struct SigningKeyTests {
    private func failure(_ text: String) -> SigningKeyError? {
        do {
            _ = try P256SigningKey(pem: Array(text.utf8))
            return nil
        } catch {
            return error
        }
    }

    @Test func readsWhatSwiftCryptoWritesAndTheOtherWayRound() throws {
        let theirs = P256.Signing.PrivateKey()
        let signature = try P256SigningKey(pem: Array(theirs.pemRepresentation.utf8)).es256(Array("message".utf8))
        #expect(signature.count == 64)
        let parsed = try P256.Signing.ECDSASignature(rawRepresentation: signature)
        #expect(theirs.publicKey.isValidSignature(parsed, for: Data("message".utf8)))
        let ours = try String(decoding: P256SigningKey.generatePEM(), as: UTF8.self)
        #expect(ours.hasPrefix("-----BEGIN PRIVATE KEY-----"))
        _ = try P256.Signing.PrivateKey(pemRepresentation: ours)
    }

    @Test func anotherCurveIsNamed() {
        #expect(failure(P384.Signing.PrivateKey().pemRepresentation) == .notP256("P-384"))
        #expect(failure(P521.Signing.PrivateKey().pemRepresentation) == .notP256("P-521"))
    }

    @Test func anotherKindIsNamed() async throws {
        let rsa = try await openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048")
        #expect(failure(rsa) == .notP256("RSA 2048"))
        let edwards = try await openssl("genpkey", "-algorithm", "ED25519")
        #expect(failure(edwards) == .notP256("ED25519"))
    }

    @Test func anEncryptedKeyIsCalledThatAndNoPassphraseIsAskedFor() async throws {
        let text = try await openssl(
            "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-aes256", "-pass", "pass:secret")
        #expect(failure(text) == .unreadable("it is encrypted with a passphrase"))
    }

    @Test(arguments: [
        ("", "the file is empty"), ("hello", "no PEM block was found"),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "it is a PEM CERTIFICATE"),
        ("-----BEGIN EC PRIVATE KEY-----\nAAAA\n", "it is a PEM EC PRIVATE KEY, not PKCS#8"),
        (
            "-----BEGIN PRIVATE KEY-----\nbm90IGEga2V5\n-----END PRIVATE KEY-----\n",
            "the PEM block does not hold a valid PKCS#8 key"
        ),
        ("-----BEGIN PRIVATE KEY-----\n", "the PEM block does not hold a valid PKCS#8 key"),
    ])
    func whatIsNoKeyIsSaidToBeWhatItIs(_ text: String, _ found: String) {
        #expect(failure(text) == .unreadable(found))
    }

    @Test func theErrorsNeverHoldTheKey() throws {
        let pem = P384.Signing.PrivateKey().pemRepresentation
        let secret = pem.split(separator: "\n")[1]
        #expect(!"\(try #require(failure(pem)))".contains(secret))
        #expect(!"\(try #require(failure(String(pem.prefix(100)))))".contains(secret.prefix(20)))
    }

    @Test func manyThreadsSignWithOneKey() async throws {
        let theirs = P256.Signing.PrivateKey()
        let key = try P256SigningKey(pem: Array(theirs.pemRepresentation.utf8))
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<200 {
                group.addTask {
                    let signature = try P256.Signing.ECDSASignature(
                        rawRepresentation: key.es256(Array("message \(number)".utf8)))
                    return theirs.publicKey.isValidSignature(signature, for: Data("message \(number)".utf8))
                }
            }
            for try await isValid in group { #expect(isValid) }
        }
    }

    @Test func rootsAreCounted() async throws {
        let directory = try TemporaryDirectory()
        let certificate = try await openssl(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
            directory.path("key.pem"), "-days", "1", "-subj", "/CN=test")
        #expect(TrustAnchors.count(pem: Array(certificate.utf8)) == 1)
        #expect(TrustAnchors.count(pem: Array((certificate + certificate).utf8)) == 2)
        #expect(TrustAnchors.count(pem: Array("no certificate".utf8)) == 0)
        #expect(TrustAnchors.count(pem: []) == 0)
    }

    private func openssl(_ arguments: String...) async throws -> String {
        try await ChildProcess.run(["openssl"] + arguments).out
    }
}

/// Removes itself with everything in it when it is released.
final class TemporaryDirectory: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "lamplighter-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String) -> String { url.appending(path: name).path() }
}
