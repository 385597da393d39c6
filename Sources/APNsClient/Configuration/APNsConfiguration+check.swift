internal import Glibc
internal import Lanes
internal import OpenSSL

extension APNsConfiguration {
    func check() throws(APNsClientError) {
        guard Origin(origin) != nil else { throw .origin(origin) }
        guard (1...256).contains(lanes) else { throw .configuration(field: "worker.lanes", "expected 1 to 256") }
        guard maximumStreams >= 1 else { throw .configuration(field: "maximum streams", "expected 1 or more") }
        guard requestTimeout > .zero, requestTimeout <= .seconds(3_600) else {
            throw .configuration(field: "request timeout", "expected more than 0 s, at most an hour")
        }
        if let caFile { try Self.check(caFile: caFile) }
        try keys.check()
    }

    /// Checks the configuration, and makes the source of the provider tokens that the transport's lanes share.
    func providerTokens() throws(APNsClientError) -> ProviderTokenSource {
        try check()
        return ProviderTokenSource(
            keys, share: share, patience: sharePatience, metrics: ProviderTokenMetrics(app: app),
            now: { [clock] in Int(clock() / 1_000) })
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
