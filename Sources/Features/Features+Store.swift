extension ActionKind {
    static let ofFeatures: [[ActionKind]] = [
        approval,
        backup,
        sketches,
        testDevices,
        webhooks,
    ]
}

extension FleetCount {
    static let ofFeatures: [FleetCount] = [
        proposals,
        intakeWaiting,
        intakeOldest,
        webhookWaiting,
        webhookDead,
    ]
}

extension FollowingNote {
    static let ofFeatures: [FollowingNote] = [
        numbers
    ]
}

extension AppRecord {
    static let ofFeatures: [AppRecord] = [
        sketch,
        testDevice,
    ]
}

extension AppCredential {
    static let callersOfFeatures: [String] = [
        airshipContact,
        intakeID,
        openIDPeople,
    ]
}
