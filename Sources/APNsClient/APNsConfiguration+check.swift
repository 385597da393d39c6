internal import Glibc
internal import OpenSSL

extension APNsConfiguration {
    /// Checks the configuration, and returns its signing key.
    func check() throws(APNsClientError) -> P256SigningKey {
        guard Origin(origin) != nil else { throw .origin(origin) }
        guard Self.isIdentifier(teamID) else { throw .identifier(field: "team_id") }
        guard Self.isIdentifier(keyID) else { throw .identifier(field: "key_id") }
        guard (1...256).contains(lanes) else { throw .limit(field: "worker.lanes", rule: "1 to 256") }
        guard maximumStreams >= 1 else { throw .limit(field: "maximum streams", rule: "1 or more") }
        guard requestTimeout > .zero, requestTimeout <= .seconds(3_600) else {
            throw .limit(field: "request timeout", rule: "more than 0 s, at most an hour")
        }
        if let caFile { try Self.check(caFile: caFile) }
        do {
            return try P256SigningKey(pem: keyPEM)
        } catch {
            throw .key(error)
        }
    }

    /// Checks the configuration, and makes the source of the provider tokens that the transport's lanes share.
    func providerTokens() throws(APNsClientError) -> ProviderTokenSource {
        ProviderTokenSource(keyID: keyID, teamID: teamID, key: try check(), share: share)
    }

    /// True for letters and digits alone, because they go into the token's JSON without escaping.
    private static func isIdentifier(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy { $0.isASCII && ($0.properties.isAlphabetic || ("0"..."9").contains($0)) }
    }

    private static func check(caFile: String) throws(APNsClientError) {
        guard let file = fopen(caFile, "re") else {
            throw .caFile(path: caFile, problem: "cannot be read: \(String(cString: strerror(errno)))")
        }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while bytes.count <= 16 << 20 {
            let count = fread(&chunk, 1, chunk.count, file)
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        guard TrustAnchors.count(pem: bytes) > 0 else {
            throw .caFile(path: caFile, problem: "holds no certificate; expected PEM (-----BEGIN CERTIFICATE-----)")
        }
    }
}
