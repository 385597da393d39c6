internal import Lanes

extension APNsConfiguration {
    func check() throws(APNsClientError) {
        guard Origin(origin) != nil else { throw .origin(origin) }
        guard (1...256).contains(lanes) else { throw .configuration(field: "worker.lanes", "expected 1 to 256") }
        guard maximumStreams >= 1 else { throw .configuration(field: "maximum streams", "expected 1 or more") }
        guard requestTimeout > .zero, requestTimeout <= .seconds(3_600) else {
            throw .configuration(field: "request timeout", "expected more than 0 s, at most an hour")
        }
        if let caFile, let problem = AuthorityFile.problem(caFile) {
            throw .configuration(field: "apns ca_file \(caFile.debugDescription)", problem)
        }
        try keys.check()
    }

    /// Checks the configuration, and makes the source of the provider tokens that the transport's lanes share.
    func providerTokens() throws(APNsClientError) -> ProviderTokenSource {
        try check()
        return ProviderTokenSource(
            keys, share: share, patience: sharePatience, metrics: ProviderTokenMetrics(app: app),
            now: { [clock] in Int(clock() / 1_000) })
    }
}
