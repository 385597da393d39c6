import Foundation
public import OpenSSL

/// A certification authority for one test. Its PEM files are in a directory that is removed together with it.
public final class TestAuthority: Sendable {
    /// A certificate and its key, for a server or a client. It keeps its files by keeping the authority.
    public struct Identity: Sendable {
        private let authority: TestAuthority
        public let certificateFile: String
        public let keyFile: String
        /// The content of the files.
        public let pem: CertificateAuthority.Identity

        fileprivate init(_ authority: TestAuthority, _ name: String, _ pem: CertificateAuthority.Identity) {
            self.authority = authority
            self.pem = pem
            certificateFile = authority.directory + "/\(name).pem"
            keyFile = authority.directory + "/\(name).key"
        }
    }

    public let directory: String
    public var caFile: String { directory + "/ca.pem" }
    private let authority: CertificateAuthority
    private static let hour = 3_600

    public init() throws {
        directory = try temporaryDirectory()
        // Use a unique name: an authority with the same name would look like this one with wrong signatures.
        authority = try CertificateAuthority(
            commonName: "test CA \(UUID().uuidString)", validity: -48 * Self.hour...48 * Self.hour)
        try write(authority.identity().certificate, caFile)
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    /// Signs a certificate.
    ///
    /// - Parameters:
    ///   - name: the name of the files. Older files of this name are replaced.
    ///   - host: names and addresses. If empty, the certificate has only its common name.
    ///   - commonName: the common name.
    ///   - life: hours from now.
    public func issue(
        _ name: String, host: [String] = ["localhost", "127.0.0.1"], commonName: String = "lamplighter test",
        life: Double = 24
    ) throws -> Identity {
        let leaf = try authority.issue(
            commonName: commonName, hosts: host, validity: -24 * Self.hour...Int(life * Double(Self.hour)),
            isClient: true)
        let identity = Identity(self, name, leaf)
        try write(identity.pem.key, identity.keyFile)
        try write(identity.pem.certificate, identity.certificateFile)
        return identity
    }

    private func write(_ bytes: [UInt8], _ path: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path), options: .atomic)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }
}

/// Makes a private key as PKCS#8 in PEM.
///
/// - Parameter curve: such as P-256
public func newKey(_ curve: String) async throws -> String {
    try await ChildProcess.run(
        ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:\(curve)"]
    ).out
}
