import ArgumentParser
import LiveActivity

/// A command that checks its options together once the parser has read them all. The parser's own `validate()` runs
/// before it tells of an unknown option, and would hide what it suggests.
protocol CheckedCommand: AsyncParsableCommand {
    /// - Throws: `ValidationError`
    func check() throws
}

extension CheckedCommand {
    /// Refuses a name where an id belongs.
    /// - Parameter remedy: the command that lists the ids
    func check(_ id: String, isIDOf thing: String, _ remedy: String) throws {
        if UUIDBytes(id) != nil { return }
        throw ValidationError("'\(id)' is no \(thing) id, which is a UUID: \(remedy)")
    }

    func checkSchedule(_ id: String) throws {
        try check(id, isIDOf: "schedule", "'lamplighter schedule list' lists them")
    }

    func checkDeadLetter(_ id: String) throws {
        try check(id, isIDOf: "push", "'lamplighter dead list' lists the pushes with dead letters")
    }
}
