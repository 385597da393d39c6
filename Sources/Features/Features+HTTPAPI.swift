import Store

extension Endpoint {
    static let ofFeatures: [[Endpoint]] = [
        appAttest,
        sketches,
        testDevices,
    ]
}

extension Answer {
    static let subjectsOfFeatures: [(String, Action.Subject)] = [
        testDeviceSubject
    ]
}

extension GatewayFeature {
    static let ofFeatures: [GatewayFeature] = [
        intake
    ]
}

extension CounterOfFeature {
    static let ofFeatures: [CounterOfFeature] = [
        intake
    ]
}
