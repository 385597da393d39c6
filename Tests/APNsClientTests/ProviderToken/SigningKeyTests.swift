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

    /// The program `openssl` makes a key and checks its signatures. It also reads a key that is made here.
    @Test func `another program reads the keys and the signatures`() async throws {
        let directory = try TemporaryDirectory()
        let theirs = try await newKey("P-256")
        try theirs.write(toFile: directory.path("key.p8"), atomically: false, encoding: .utf8)
        try "message".write(toFile: directory.path("message"), atomically: false, encoding: .utf8)
        let signature = try P256SigningKey(pem: Array(theirs.utf8)).es256(Array("message".utf8))
        #expect(signature.count == 64)
        try directory.write("signature", der(signature))
        let verdict = try await openssl(
            "dgst", "-sha256", "-prverify", directory.path("key.p8"), "-signature", directory.path("signature"),
            directory.path("message"))
        #expect(verdict == "Verified OK\n")

        let ours = try P256SigningKey.generatePEM()
        #expect(String(decoding: ours, as: UTF8.self).hasPrefix("-----BEGIN PRIVATE KEY-----"))
        try directory.write("own.p8", ours)
        let publicHalf = try await openssl("pkey", "-in", directory.path("own.p8"), "-pubout")
        let own = try P256SigningKey(pem: ours).es256([1])
        #expect(try P256PublicKey(pem: Array(publicHalf.utf8)).isValid(own, for: [1]))
    }

    @Test func `another curve is named`() async throws {
        #expect(failure(try await newKey("P-384")) == .notP256("P-384"))
        #expect(failure(try await newKey("P-521")) == .notP256("P-521"))
    }

    @Test func `another kind is named`() async throws {
        let rsa = try await openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048")
        #expect(failure(rsa) == .notP256("RSA 2048"))
        let edwards = try await openssl("genpkey", "-algorithm", "ED25519")
        #expect(failure(edwards) == .notP256("ED25519"))
    }

    @Test func `an encrypted key is called that and no passphrase is asked for`() async throws {
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
    func `what is no key is said to be what it is`(_ text: String, _ found: String) {
        #expect(failure(text) == .unreadable(found))
    }

    @Test func `the errors never hold the key`() async throws {
        let pem = try await newKey("P-384")
        let secret = pem.split(separator: "\n")[1]
        #expect(!"\(try #require(failure(pem)))".contains(secret))
        #expect(!"\(try #require(failure(String(pem.prefix(100)))))".contains(secret.prefix(20)))
    }

    @Test func `many threads sign with one key`() async throws {
        let pem = try P256SigningKey.generatePEM()
        let (key, publicKey) = (try P256SigningKey(pem: pem), try P256PublicKey(pem: pem))
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<200 {
                group.addTask {
                    let message = Array("message \(number)".utf8)
                    return publicKey.isValid(try key.es256(message), for: message)
                }
            }
            for try await isValid in group { #expect(isValid) }
        }
    }

    @Test func `roots are counted`() async throws {
        let directory = try TemporaryDirectory()
        let certificate = try await openssl(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
            directory.path("key.pem"), "-days", "1", "-subj", "/CN=test")
        #expect(TrustAnchors.count(pem: Array(certificate.utf8)) == 1)
        #expect(TrustAnchors.count(pem: Array((certificate + certificate).utf8)) == 2)
        #expect(TrustAnchors.count(pem: Array("no certificate".utf8)) == 0)
        #expect(TrustAnchors.count(pem: []) == 0)
    }

    /// SEQUENCE { INTEGER r, INTEGER s }. A number has no leading zeros, but one if it would be negative without it.
    private func der(_ raw: [UInt8]) -> [UInt8] {
        let numbers = [raw.prefix(32), raw.suffix(32)].flatMap { number in
            let digits = Array(number.drop { $0 == 0 })
            let positive = (digits.first ?? 0x80) < 0x80 ? digits : [0] + digits
            return [0x02, UInt8(positive.count)] + positive
        }
        return [0x30, UInt8(numbers.count)] + numbers
    }

    private func openssl(_ arguments: String...) async throws -> String {
        try await ChildProcess.run(["openssl"] + arguments).out
    }
}
