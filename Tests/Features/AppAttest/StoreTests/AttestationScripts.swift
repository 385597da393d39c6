extension ScriptWorkTests {
    /// It does the same work in each call.
    static let appAttest = ["attest-count"]
}
