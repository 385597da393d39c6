internal import Crypto
internal import Glibc
internal import SwiftASN1
internal import X509

private import struct FoundationEssentials.Date

/// The simulator's own certification authority, and what is signed by it. The directory is locked while it is read or
/// written, so that simulators that start at the same time share one CA.
struct Certificates {
    /// PEM: the leaf, and its key.
    var serverCertificate: String
    var serverKey: String
    var caFile: String
    /// The provider key, PEM: made on the first start, then the same for ever.
    var providerKeyFile: String

    static let simulatorKeyID = "SIMULATOR1"
    static let simulatorTeamID = "LAMPLIGHT1"

    private static let day = 86_400.0
    /// Below this a CA is replaced.
    private static let minimumRemaining = 30 * day

    /// `life`: seconds until the server's certificate expires.
    static func prepare(directory: String, host: String, life: Int = 365 * 86_400) throws(SimulatorError)
        -> Certificates
    {
        try Files.makeDirectory(directory)
        let lock = try Files.lock("\(directory)/.lock")
        defer { Files.unlock(lock) }
        let caFile = "\(directory)/ca.pem"
        let keyFile = "\(directory)/ca.key"
        do {
            var authority = readAuthority(caFile: caFile, keyFile: keyFile)
            if authority == nil {
                let made = try makeAuthority()
                try Files.write(keyFile, made.key.pemRepresentation, mode: 0o600)
                try Files.write(caFile, made.certificate.serializeAsPEM().pemString, mode: 0o644)
                authority = made
            }
            guard let authority else { throw SimulatorError.files(path: caFile, "no certificate") }
            let key = P256.Signing.PrivateKey()
            let leaf = try makeLeaf(for: key.publicKey, host: host, life: life, authority)
            let providerKeyFile = "\(directory)/AuthKey_\(simulatorKeyID).p8"
            if Files.read(providerKeyFile) == nil {
                try Files.write(providerKeyFile, P256.Signing.PrivateKey().pemRepresentation, mode: 0o600)
            }
            return Certificates(
                serverCertificate: try leaf.serializeAsPEM().pemString, serverKey: key.pemRepresentation,
                caFile: caFile, providerKeyFile: providerKeyFile)
        } catch let error as SimulatorError {
            throw error
        } catch {
            throw .files(path: directory, "cannot make certificates: \(error)")
        }
    }

    private typealias Authority = (certificate: Certificate, key: P256.Signing.PrivateKey)

    /// nil: none, not readable, or soon to expire.
    private static func readAuthority(caFile: String, keyFile: String) -> Authority? {
        guard let certificateText = Files.read(caFile), let keyText = Files.read(keyFile),
            let certificate = try? Certificate(pemEncoded: certificateText),
            let key = try? P256.Signing.PrivateKey(pemRepresentation: keyText),
            certificate.publicKey == Certificate.PublicKey(key.publicKey),
            certificate.notValidAfter.timeIntervalSinceNow > minimumRemaining, certificate.notValidBefore <= Date()
        else { return nil }
        return (certificate, key)
    }

    private static func makeAuthority() throws -> Authority {
        let key = P256.Signing.PrivateKey()
        let name = try DistinguishedName {
            CommonName("Lamplighter APNs simulator CA")
            OrganizationName("Lamplighter")
        }
        let certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: .init(key.publicKey),
            notValidBefore: Date(timeIntervalSinceNow: -day), notValidAfter: Date(timeIntervalSinceNow: 3_650 * day),
            issuer: name, subject: name, signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
                Critical(KeyUsage(keyCertSign: true, cRLSign: true))
                SubjectKeyIdentifier(hash: .init(key.publicKey))
            },
            issuerPrivateKey: .init(key))
        return (certificate, key)
    }

    private static func makeLeaf(
        for key: P256.Signing.PublicKey, host: String, life: Int, _ authority: Authority
    ) throws -> Certificate {
        let subject = try DistinguishedName { CommonName("Lamplighter APNs simulator") }
        let authorityID = try authority.certificate.extensions.subjectKeyIdentifier?.keyIdentifier
        return try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: .init(key),
            notValidBefore: Date(timeIntervalSinceNow: min(0, Double(life)) - day),
            notValidAfter: Date(timeIntervalSinceNow: Double(life)),
            issuer: authority.certificate.subject, subject: subject, signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage([.serverAuth])
                SubjectAlternativeNames(names(host: host))
                AuthorityKeyIdentifier(keyIdentifier: authorityID)
            },
            issuerPrivateKey: .init(authority.key))
    }

    private static func names(host: String) -> [GeneralName] {
        var addresses: [[UInt8]] = [[127, 0, 0, 1], [UInt8](repeating: 0, count: 15) + [1]]
        var names: [GeneralName] = [.dnsName("localhost")]
        if let address = Files.address(host) {
            if !addresses.contains(address) { addresses.append(address) }
        } else if host != "localhost" {
            names.append(.dnsName(host))
        }
        return names + addresses.map { .ipAddress(ASN1OctetString(contentBytes: $0[...])) }
    }
}

/// The few calls on files that the certificates need, with the modes that private keys need.
enum Files {
    static func makeDirectory(_ path: String) throws(SimulatorError) {
        var partial = path.hasPrefix("/") ? "/" : ""
        for part in path.split(separator: "/") {
            partial += partial.isEmpty || partial == "/" ? "\(part)" : "/\(part)"
            guard mkdir(partial, 0o700) == 0 || errno == EEXIST || errno == EISDIR else {
                throw failure(partial, "cannot make the directory")
            }
        }
    }

    /// Holds others out until `unlock`, or until this process ends, however it ends.
    static func lock(_ path: String) throws(SimulatorError) -> Int32 {
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure(path, "cannot open") }
        while flock(file, LOCK_EX) != 0 {
            guard errno == EINTR else {
                close(file)
                throw failure(path, "cannot lock")
            }
        }
        return file
    }

    static func unlock(_ file: Int32) { close(file) }

    static func read(_ path: String) -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        while bytes.count < 1 << 20 {
            let count = Glibc.read(file, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return nil }
            if count == 0 { break }
            bytes += chunk[..<count]
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Whole or not at all: a reader never sees half a file.
    static func write(_ path: String, _ text: String, mode: mode_t) throws(SimulatorError) {
        let temporary = "\(path).new"
        unlink(temporary)
        let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard file >= 0 else { throw failure(temporary, "cannot create") }
        let bytes = Array(text.utf8)
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.write(file, $0.baseAddress.map { $0 + written }, bytes.count - written)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                close(file)
                throw failure(temporary, "cannot write")
            }
            written += count
        }
        close(file)
        guard rename(temporary, path) == 0 else { throw failure(path, "cannot rename to it") }
    }

    /// The bytes of an IPv4 or IPv6 address; nil for a name.
    static func address(_ host: String) -> [UInt8]? {
        var four = in_addr()
        if inet_pton(AF_INET, host, &four) == 1 { return withUnsafeBytes(of: four) { Array($0) } }
        var six = in6_addr()
        if inet_pton(AF_INET6, host, &six) == 1 { return withUnsafeBytes(of: six) { Array($0) } }
        return nil
    }

    private static func failure(_ path: String, _ text: String) -> SimulatorError {
        .files(path: path, "\(text): \(String(cString: strerror(errno)))")
    }
}
