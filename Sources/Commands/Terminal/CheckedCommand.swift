import ArgumentParser

/// A command that checks its options together once the parser has read them all. The parser's own `validate()` runs
/// before it tells of an unknown option, and would hide what it suggests.
protocol CheckedCommand: AsyncParsableCommand {
    /// - Throws: `ValidationError`
    func check() throws
}
