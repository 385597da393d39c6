extension ChangingCall {
    static let ofFeatures: [[ChangingCall]] = [
        attestations,
        sketches,
        testDevices,
    ]
}

extension GatewayFixture {
    static let ofFeatures: [@Sendable () async throws -> SetUp] = [
        attestation
    ]
}

extension ActionWordsTests {
    static let ofFeatures: [[(String, String)]] = [
        sketches,
        testDevices,
    ]
}

extension ConsoleFuzzTests {
    static let ofFeatures: [(String, Form)] = [
        sketches,
        testDevices,
    ]
}
