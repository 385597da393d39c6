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
