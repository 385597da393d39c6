internal import Glibc
internal import OpenSSL

extension APNsConfiguration {
    /// Checks the configuration, and returns its signing key.
    func check() throws(APNsClientError) -> P256SigningKey {
        guard Origin(origin) != nil else { throw .origin(origin) }
        for (field, text) in [("apns team_id", teamID), ("apns key_id", keyID)] where !Self.isIdentifier(text) {
            throw .configuration(
                field: field, "expected 1 to 64 letters and digits, as Apple's developer site shows it")
        }
        guard (1...256).contains(lanes) else { throw .configuration(field: "worker.lanes", "expected 1 to 256") }
        guard maximumStreams >= 1 else { throw .configuration(field: "maximum streams", "expected 1 or more") }
        guard requestTimeout > .zero, requestTimeout <= .seconds(3_600) else {
            throw .configuration(field: "request timeout", "expected more than 0 s, at most an hour")
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
        ProviderTokenSource(
            keyID: keyID, teamID: teamID, key: try check(), share: share, patience: sharePatience,
            metrics: LaneMetrics(app: app))
    }

    /// True for letters and digits alone, because they go into the token's JSON without escaping.
    private static func isIdentifier(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy { $0.isASCII && ($0.properties.isAlphabetic || ("0"..."9").contains($0)) }
    }

    private static func check(caFile: String) throws(APNsClientError) {
        let field = "apns ca_file \(caFile.debugDescription)"
        guard let file = fopen(caFile, "re") else {
            throw .configuration(field: field, "cannot be read: \(String(cString: strerror(errno)))")
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
            throw .configuration(field: field, "holds no certificate; expected PEM (-----BEGIN CERTIFICATE-----)")
        }
    }
}
