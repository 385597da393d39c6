extension Route {
    static let ofFeatures: [[Route]] = [
        approval,
        numbers,
        sketches,
        testDevices,
        webhooks,
    ]
}
extension MenuEntry {
    static let ofFeatures: [MenuEntry] = [
        approval,
        numbers,
        webhooks,
    ]
}
extension NameLink {
    static let ofFeatures: [NameLink] = [
        numbers
    ]
}
extension DeviceLink {
    static let ofFeatures: [DeviceLink] = [
        testDevices
    ]
}
extension ComposeFeature {
    static let ofFeatures: [ComposeFeature] = [
        approval,
        testDevices,
        sketches,
    ]
}
extension WaitingPush {
    static let ofFeatures: [Finder] = [
        approval
    ]
}
extension PushFact {
    static let ofFeatures: [Finder] = [
        approval
    ]
}
extension CardDrawing {
    static let ofFeatures: [Finder] = [
        sketches
    ]
}
extension Notice {
    static let ofFeatures: [[Notice]] = [
        approval,
        sketches,
        testDevices,
        webhooks,
    ]
}
