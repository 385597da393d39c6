extension ScriptWorkTests {
    static let boundedOfFeatures: [[String]] = [
        approval,
        backup,
        appAttest,
        numbers,
    ]
}

extension ClockStepTests {
    static let ofFeatures: [[String]] = [
        approval,
        backup,
    ]
}
