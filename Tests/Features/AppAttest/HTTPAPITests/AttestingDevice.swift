import Foundation
import LiveActivity
import OpenSSL
import TestSupport

@testable import HTTPAPI

/// Plays a device with App Attest, and the authority that certifies its keys: root, intermediate, leaf.
final class AttestingDevice: Sendable {
    static let (teamID, bundleID) = ("TEAM123456", "com.example.shop")

    struct Key: Sendable {
        fileprivate var file: String
        var id: [UInt8]
    }

    /// The part that a proof gets wrong.
    struct Fault: Sendable {
        /// In place of the right one.
        var nonce: [UInt8]?
        var appID = "\(teamID).\(bundleID)"
        var counter: UInt32?
        var mark = "appattestdevelop"
        var credentialID: [UInt8]?
        var format = "apple-appattest"
        var leavesOutIntermediate = false
        var moreCertificates = 0
    }

    private let directory: TemporaryDirectory
    /// Seconds since 1970.
    private let begin: Int64

    /// - Parameter begin: all certificates are valid for a day from then on, seconds since 1970.
    init(begin: Int64 = testNow / 1_000 - 3_600) async throws {
        directory = try TemporaryDirectory()
        self.begin = begin
        let settings = """
            [ca]
            default_ca = own
            [own]
            database = \(path("index"))
            new_certs_dir = \(path(""))
            rand_serial = yes
            unique_subject = no
            default_md = sha256
            policy = names
            [names]
            commonName = supplied
            """
        for (name, text) in [("settings", settings), ("index", ""), ("ca.cnf", "basicConstraints=critical,CA:TRUE\n")] {
            try Data(text.utf8).write(to: url(name))
        }
        for (name, commonName) in [("root", "root \(UUID())"), ("ca", "intermediate")] {
            try await openssl([
                "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384", "-nodes", "-keyout", path(name + ".key"),
                "-out", path(name + ".csr"), "-subj", "/CN=\(commonName)",
            ])
            try await certify(name, by: "root", extensions: path("ca.cnf"))
        }
    }

    private func path(_ name: String) -> String { directory.path(name) }
    private func url(_ name: String) -> URL { URL(fileURLWithPath: path(name)) }

    private func openssl(_ arguments: [String]) async throws {
        let output = try await ChildProcess.run(["openssl"] + arguments)
        guard output.code == 0 else { throw NeverHappened(description: "openssl \(arguments): \(output.out)") }
    }

    /// Signs NAME.csr: NAME.pem and NAME.der.
    private func certify(_ name: String, by issuer: String, extensions: String) async throws {
        let signer = name == issuer ? ["-selfsign"] : ["-cert", path(issuer + ".pem")]
        func date(_ seconds: Int64) -> String {
            TimeText.plainText(seconds * 1_000).filter { !"-:T".contains($0) } + "Z"
        }
        try await openssl(
            ["ca", "-batch", "-notext", "-config", path("settings"), "-keyfile", path(issuer + ".key")] + signer + [
                "-in", path(name + ".csr"), "-out", path(name + ".pem"), "-extfile", extensions,
                "-startdate", date(begin), "-enddate", date(begin + 86_400),
            ])
        try await openssl(["x509", "-in", path(name + ".pem"), "-outform", "DER", "-out", path(name + ".der")])
    }

    private func bytes(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: url(name))) }

    /// The gateway's rules for the app. Only the root is not Apple's.
    func rules(
        teamID: String = teamID, _ environment: AppAttest.Environment = .development
    ) throws -> AppAttest {
        AppAttest(teamID: teamID, bundleID: Self.bundleID, environment: environment, root: try bytes("root.pem"))
    }

    /// `generateKey`.
    func key(_ curve: String = "P-256") async throws -> Key {
        let name = UUID().uuidString
        try Data(try await newKey(curve).utf8).write(to: url(name + ".key"))
        let output = ["-pubout", "-outform", "DER", "-out", path(name + ".pub")]
        try await openssl(["pkey", "-in", path(name + ".key")] + output)
        return Key(file: name, id: Array(SHA256Digest(of: try bytes(name + ".pub").suffix(65))))
    }

    /// `attestKey`.
    func attestation(_ key: Key, _ clientData: String, _ fault: Fault = Fault()) async throws -> [UInt8] {
        let id = fault.credentialID ?? key.id
        let zeros = [UInt8](repeating: 0, count: 16 - fault.mark.utf8.count)
        let authData =
            authenticatorData(fault, counter: 0) + fault.mark.utf8 + zeros + [0, UInt8(id.count)] + id + [0xA0]
        let nonce = fault.nonce ?? Self.nonce(authData, clientData)
        let name = "leaf-\(UUID())"
        let extensions = "1.2.840.113635.100.8.2=DER:3024A1220420\(Hex.encode(nonce))\n"
        try Data(extensions.utf8).write(to: url(name + ".cnf"))
        try await openssl([
            "req", "-new", "-key", path(key.file + ".key"), "-subj", "/CN=leaf", "-out", path(name + ".csr"),
        ])
        try await certify(name, by: "ca", extensions: path(name + ".cnf"))
        let chain =
            [try bytes(name + ".der")] + (fault.leavesOutIntermediate ? [] : [try bytes("ca.der")])
            + Array(repeating: try bytes("root.der"), count: fault.moreCertificates)
        return CBOR.map([
            ("fmt", CBOR.text(fault.format)),
            (
                "attStmt",
                CBOR.map([("x5c", CBOR.array(chain.map(CBOR.bytes))), ("receipt", CBOR.bytes([1, 2, 3]))])
            ),
            ("authData", CBOR.bytes(authData)),
        ])
    }

    /// `generateAssertion`.
    func assertion(
        _ key: Key, _ clientData: String, counter: UInt32, _ fault: Fault = Fault()
    ) async throws -> [UInt8] {
        let authData = authenticatorData(fault, counter: counter)
        let name = UUID().uuidString
        try Data(Self.nonce(authData, clientData)).write(to: url(name))
        try await openssl([
            "dgst", "-sha256", "-sign", path(key.file + ".key"), "-out", path(name + ".sig"), path(name),
        ])
        return CBOR.map([
            ("signature", CBOR.bytes(try bytes(name + ".sig"))), ("authenticatorData", CBOR.bytes(authData)),
        ])
    }

    private func authenticatorData(_ fault: Fault, counter: UInt32) -> [UInt8] {
        let counter = fault.counter ?? counter
        return Array(SHA256Digest(of: fault.appID.utf8)) + [0x40] + withUnsafeBytes(of: counter.bigEndian) { Array($0) }
    }

    private static func nonce(_ authData: [UInt8], _ clientData: String) -> [UInt8] {
        Array(SHA256Digest(of: authData + SHA256Digest(of: clientData.utf8)))
    }
}

/// Writes CBOR.
enum CBOR {
    static func head(_ type: UInt8, _ count: Int) -> [UInt8] {
        switch count {
        case ..<24: [type << 5 | UInt8(count)]
        case ..<256: [type << 5 | 24, UInt8(count)]
        default: [type << 5 | 25, UInt8(count >> 8), UInt8(count & 0xFF)]
        }
    }

    static func bytes(_ bytes: [UInt8]) -> [UInt8] { head(2, bytes.count) + bytes }
    static func text(_ text: String) -> [UInt8] { head(3, text.utf8.count) + text.utf8 }
    static func array(_ entries: [[UInt8]]) -> [UInt8] { head(4, entries.count) + entries.joined() }
    static func map(_ entries: [(String, [UInt8])]) -> [UInt8] {
        head(5, entries.count) + entries.flatMap { text($0.0) + $0.1 }
    }
}
