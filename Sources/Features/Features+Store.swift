extension FleetCount {
    static let ofFeatures: [FleetCount] = [
        intakeWaiting,
        intakeOldest,
    ]
}

extension AppCredential {
    static let callersOfFeatures: [String] = [
        intakeID
    ]
}
