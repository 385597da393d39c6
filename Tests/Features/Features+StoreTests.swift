extension ScriptWorkTests {
    static let boundedOfFeatures: [[String]] = [
        backup,
        appAttest,
    ]
}

extension ClockStepTests {
    static let ofFeatures: [[String]] = [
        backup
    ]
}
