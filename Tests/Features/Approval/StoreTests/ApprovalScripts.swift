extension ScriptWorkTests {
    static let approval = ["proposal-write", "proposal-settle"]
}

extension ClockStepTests {
    /// They get the present from their caller, and compare dates and no wait.
    static let approval = ["proposal-write", "proposal-settle"]
}
