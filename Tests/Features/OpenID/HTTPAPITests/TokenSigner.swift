import Foundation
import LiveActivity
import OpenSSL
import StrictJSON
import TestSupport

/// A key pair that signs ID tokens, made by the program `openssl`. Its public half is a JSON Web Key.
struct TokenSigner: Sendable {
    enum Kind: Sendable, Hashable {
        case rsa(bits: Int)
        case p256

        static let rsa = Kind.rsa(bits: 2_048)
    }

    let kind: Kind
    let id: String
    private let directory: TemporaryDirectory
    /// The members of the JSON Web Key that are the key itself.
    private let parts: [JSON.Member]

    init(_ kind: Kind, id: String = "key-1") async throws {
        (self.kind, self.id, directory) = (kind, id, try TemporaryDirectory())
        let file = directory.path("key.pem")
        switch kind {
        case .rsa(let bits):
            let options = ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:\(bits)", "-out", file]
            _ = try await ChildProcess.run(["openssl", "genpkey"] + options)
            let text = try await ChildProcess.run(["openssl", "rsa", "-in", file, "-modulus", "-noout"]).out
            guard let mark = text.firstIndex(of: "="), let modulus = Hex.decode(text[mark...].dropFirst().trimmed)
            else {
                throw NeverHappened(description: text)
            }
            parts = [.init("n", .string(Base64.encodeURL(modulus))), .init("e", "AQAB")]
        case .p256:
            try directory.write("key.pem", Array(try await newKey("P-256").utf8))
            let output = ["-pubout", "-outform", "DER", "-out", directory.path("key.der")]
            _ = try await ChildProcess.run(["openssl", "pkey", "-in", file] + output)
            let point = try Data(contentsOf: URL(fileURLWithPath: directory.path("key.der"))).suffix(64)
            parts = [
                .init("crv", "P-256"), .init("x", .string(Base64.encodeURL(point.prefix(32)))),
                .init("y", .string(Base64.encodeURL(point.suffix(32)))),
            ]
        }
    }

    var algorithm: String { kind == .p256 ? "ES256" : "RS256" }

    /// - Parameter changes: members in place of the usual ones; nil leaves one out
    func key(_ changes: [String: JSON?] = [:]) -> JSON {
        let usual: [JSON.Member] = [
            .init("kty", kind == .p256 ? "EC" : "RSA"), .init("kid", .string(id)), .init("use", "sig"),
            .init("alg", .string(algorithm)),
        ]
        return JSON.object(usual + parts).with(changes)
    }

    static func set(_ keys: JSON...) -> [UInt8] { JSON.fields(["keys": .array(keys)]).bytes }

    /// - Parameter header: members in place of the usual ones; nil leaves one out
    func token(_ claims: JSON, header: [String: JSON?] = [:]) async throws -> String {
        let usual = JSON.fields(["alg": .string(algorithm), "kid": .string(id), "typ": "JWT"]).with(header)
        let signed = "\(Base64.encodeURL(usual.bytes)).\(Base64.encodeURL(claims.bytes))"
        return "\(signed).\(Base64.encodeURL(try await signature(Array(signed.utf8))))"
    }

    private func signature(_ message: [UInt8]) async throws -> [UInt8] {
        let pem = Array(try Data(contentsOf: URL(fileURLWithPath: directory.path("key.pem"))))
        if kind == .p256 { return try P256SigningKey(pem: pem).es256(message) }
        let name = UUID().uuidString
        try directory.write(name, message)
        let output = directory.path(name + ".sig")
        _ = try await ChildProcess.run(
            ["openssl", "dgst", "-sha256", "-sign", directory.path("key.pem"), "-out", output, directory.path(name)])
        return Array(try Data(contentsOf: URL(fileURLWithPath: output)))
    }
}

extension JSON {
    /// An object with some members changed, or left out for nil.
    func with(_ changes: [String: JSON?]) -> JSON {
        guard case .object(let members) = self else { return self }
        let kept = members.filter { member in !changes.keys.contains(member.key) }
        let added = changes.sorted { $0.key < $1.key }.compactMap { name, value in value.map { Member(name, $0) } }
        return .object(kept + added)
    }
}
