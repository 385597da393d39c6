import Store

extension Endpoint {
    static let ofFeatures: [[Endpoint]] = [
        airshipSDK,
        appAttest,
        approval,
        numbers,
        sketches,
        testDevices,
        webhooks,
    ]
}
extension Answer {
    static let subjectsOfFeatures: [(String, Action.Subject)] = [
        proposalSubject,
        testDeviceSubject,
    ]
}
extension PublishGate {
    static let ofFeatures: [PublishGate] = [
        approval
    ]
}
extension WaitingCount {
    static let ofFeatures: [[WaitingCount]] = [
        approval
    ]
}
extension GatewayFeature {
    static let ofFeatures: [GatewayFeature] = [
        approval,
        intake,
        openID,
    ]
}
extension CounterOfFeature {
    static let ofFeatures: [CounterOfFeature] = [
        intake
    ]
}
extension ForeignAPI {
    static let ofFeatures: [ForeignAPI] = [
        airship
    ]
}
