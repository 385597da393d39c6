extension ChangingCall {
    static let ofFeatures: [[ChangingCall]] = [
        airshipSDK,
        approval,
        attestations,
        sketches,
        testDevices,
        webhooks,
    ]
}

extension GatewayFixture {
    static let ofFeatures: [@Sendable () async throws -> SetUp] = [
        attestation
    ]
}

extension ActionWordsTests {
    static let ofFeatures: [[(String, String)]] = [
        approval,
        sketches,
        testDevices,
        webhooks,
    ]
}

extension ConsoleFuzzTests {
    static let ofFeatures: [(String, Form)] = [
        approval,
        sketches,
        testDevices,
        webhooks,
    ]
}
