import Foundation
import OpenSSL
import TestSupport
import Testing

@Suite struct CertificateAuthorityTests {
    private let day = 86_400

    /// The program `openssl` trusts the certificate, but only for its hosts.
    @Test func `a leaf is good for its hosts`() async throws {
        let directory = try temporaryDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let authority = try CertificateAuthority(commonName: "CA", organization: "O", validity: -day...day)
        let leaf = try authority.issue(
            commonName: "leaf", hosts: ["localhost", "127.0.0.1", "::1", "*.push.example"], validity: -day...day)
        try write(authority.identity().certificate, directory + "/ca.pem")
        try write(leaf.certificate, directory + "/leaf.pem")
        func verdict(_ arguments: String...) async throws -> Int32 {
            try await ChildProcess.run(
                ["openssl", "verify", "-x509_strict", "-purpose", "sslserver", "-CAfile", directory + "/ca.pem"]
                    + arguments + [directory + "/leaf.pem"]
            ).code
        }
        #expect(try await verdict() == 0)
        for name in ["localhost", "api.push.example"] { #expect(try await verdict("-verify_hostname", name) == 0) }
        for address in ["127.0.0.1", "::1"] { #expect(try await verdict("-verify_ip", address) == 0) }
        #expect(try await verdict("-verify_hostname", "example.com") != 0)
        #expect(try await verdict("-verify_ip", "127.0.0.2") != 0)

        let text = try await ChildProcess.run(
            ["openssl", "x509", "-in", directory + "/leaf.pem", "-noout", "-subject", "-issuer"]
        ).out
        #expect(text == "subject=CN = leaf\nissuer=CN = CA, O = O\n")
    }

    @Test func `an authority that was kept signs on`() throws {
        let kept = try CertificateAuthority(commonName: "CA", validity: -day...day).identity()
        let read = try #require(CertificateAuthority(kept))
        #expect(try read.identity().certificate == kept.certificate)
        _ = try read.issue(commonName: "leaf", hosts: [], validity: 0...day)
    }

    @Test func `another key, or none, is no authority`() throws {
        let one = try CertificateAuthority(commonName: "CA", validity: -day...day).identity()
        let other = try CertificateAuthority(commonName: "CA", validity: -day...day).identity()
        for (certificate, key) in [(one.certificate, other.key), (one.certificate, []), (one.key, one.key)] {
            #expect(CertificateAuthority(CertificateAuthority.Identity(certificate: certificate, key: key)) == nil)
        }
    }

    @Test func `an authority tells how long it is good`() throws {
        let authority = try CertificateAuthority(commonName: "CA", validity: -day...day)
        #expect(authority.isValid(forSeconds: 0))
        #expect(authority.isValid(forSeconds: day - 600))
        #expect(!authority.isValid(forSeconds: day + 600))
        #expect(!(try CertificateAuthority(commonName: "CA", validity: 600...day).isValid(forSeconds: 0)))
        #expect(!(try CertificateAuthority(commonName: "CA", validity: -day ... -600).isValid(forSeconds: 0)))
    }

    /// These hosts would add fields to the list of names.
    @Test(arguments: ["a,DNS:b", "a:b", "", "a b", "@section"]) func `odd hosts are refused`(_ host: String) throws {
        let authority = try CertificateAuthority(commonName: "CA", validity: -day...day)
        #expect(throws: TLSError.self) {
            try authority.issue(commonName: "leaf", hosts: [host], validity: 0...day)
        }
    }

    private func write(_ bytes: [UInt8], _ path: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }
}
