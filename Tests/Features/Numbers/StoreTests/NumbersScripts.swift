extension ScriptWorkTests {
    /// A few commands for a thousand names of an hour and of its day.
    static let numbers = ["sums-draft", "sums-change"]
}
