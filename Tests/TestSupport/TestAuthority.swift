import Crypto
import Foundation
import SwiftASN1
import X509

/// A certification authority for one test. Its PEM files are in a directory that is removed together with it.
public final class TestAuthority: Sendable {
    /// A certificate and its key, for a server or a client. It keeps its files by keeping the authority.
    public struct Identity: Sendable {
        private let authority: TestAuthority
        public let certificateFile: String
        public let keyFile: String

        fileprivate init(_ authority: TestAuthority, _ name: String) {
            self.authority = authority
            certificateFile = authority.directory + "/\(name).pem"
            keyFile = authority.directory + "/\(name).key"
        }
    }

    public let directory: String
    public var caFile: String { directory + "/ca.pem" }
    private let certificate: Certificate
    private let key: P256.Signing.PrivateKey
    private static let hour = 3_600.0

    public init() throws {
        directory = FileManager.default.temporaryDirectory.path + "/lamp-ca-" + UUID().uuidString.prefix(8)
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let key = P256.Signing.PrivateKey()
        self.key = key
        // Use a unique name: an authority with the same name would look like this one with wrong signatures.
        let name = try DistinguishedName { CommonName("test CA \(UUID().uuidString)") }
        certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: .init(key.publicKey),
            notValidBefore: Date(timeIntervalSinceNow: -48 * Self.hour),
            notValidAfter: Date(timeIntervalSinceNow: 48 * Self.hour),
            issuer: name, subject: name, signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
                Critical(KeyUsage(keyCertSign: true))
                SubjectKeyIdentifier(hash: .init(key.publicKey))
            },
            issuerPrivateKey: .init(key))
        try write(certificate.serializeAsPEM().pemString, caFile)
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    /// Signs a certificate.
    ///
    /// - Parameters:
    ///   - name: the name of the files. Older files of this name are replaced.
    ///   - host: names, or 127.0.0.1. If empty, the certificate has only its common name.
    ///   - commonName: the common name.
    ///   - life: hours from now.
    public func issue(
        _ name: String, host: [String] = ["localhost", "127.0.0.1"], commonName: String = "lamplighter test",
        life: Double = 24
    ) throws -> Identity {
        let own = P256.Signing.PrivateKey()
        let names = host.map { name in
            name == "127.0.0.1"
                ? GeneralName.ipAddress(ASN1OctetString(contentBytes: [127, 0, 0, 1])) : .dnsName(name)
        }
        let leaf = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: .init(own.publicKey),
            notValidBefore: Date(timeIntervalSinceNow: -24 * Self.hour),
            notValidAfter: Date(timeIntervalSinceNow: life * Self.hour),
            issuer: certificate.subject, subject: try DistinguishedName { CommonName(commonName) },
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage([.serverAuth, .clientAuth])
                if !names.isEmpty { SubjectAlternativeNames(names) }
            },
            issuerPrivateKey: .init(key))
        let identity = Identity(self, name)
        try write(own.pemRepresentation, identity.keyFile)
        try write(leaf.serializeAsPEM().pemString, identity.certificateFile)
        return identity
    }

    private func write(_ text: String, _ path: String) throws {
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }
}
