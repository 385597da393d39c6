extension ScriptWorkTests {
    static let boundedOfFeatures: [[String]] = [
        approval,
        backup,
        appAttest,
    ]
}

extension ClockStepTests {
    static let ofFeatures: [[String]] = [
        approval,
        backup,
    ]
}
