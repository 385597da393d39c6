import ArgumentParser
import Testing

@testable import Commands

/// The words about a command line that cannot be run, and the examples that a person pastes.
@Suite struct UsageTests {
    @Test(arguments: [
        (["pubish", "match-42"], "'pubish' is no command; did you mean 'publish'?"),
        (["dead", "rety"], "'rety' is no command; did you mean 'retry'?"), (["nothing-like-it"], "is no command"),
        (["--config", "x", "status"], "as in 'lamplighter status --config x'"),
    ])
    func `a slip is named with its remedy`(arguments: [String], words: String) async throws {
        await #expect(throws: (any Error).self) { try await Lamplighter.asyncParseAsRoot(arguments) }
        #expect(try #require(Usage.misunderstood(arguments)).message.contains(words))
    }

    @Test(arguments: [
        ["publish"], ["publish", "a", "--contentstate", "{}"], ["--confg"], ["import", "devices.csv"], [],
    ])
    func `where the parser's own words help, they stay`(arguments: [String]) {
        #expect(Usage.misunderstood(arguments) == nil)
    }

    @Test func `an error names its command's usage, also of a command in a command`() {
        let text = Usage.text("give an entry, or --all", of: QuarantineCommand.Discard.self)
        #expect(text.hasPrefix("Error: give an entry, or --all\nUsage: lamplighter quarantine discard ["))
        #expect(text.contains("See 'lamplighter quarantine discard --help'"))
    }

    @Test func `a usage leaves out what may be left out`() {
        let usage = "Usage: lamplighter credential create <id> --scopes <scopes> [options]\n"
        #expect(Usage.text("", of: CredentialCommand.Create.self).contains(usage))
        for command in Self.commands(Lamplighter.self) {
            let line = Usage.text("", of: command).split(separator: "\n").first { $0.hasPrefix("Usage: ") } ?? ""
            #expect(line.count <= 110 && !line.contains("[--"), "\(line)")
        }
    }

    @Test(arguments: [
        (["dead", "show", "match-42"], "'match-42' is no push id, which is a UUID: 'lamplighter dead list'"),
        (["dead", "retry", "match-42"], "is no push id"), (["dead", "drop", "match-42"], "is no push id"),
        (["push", "match-42"], "'lamplighter history match-42' lists the pushes of a name"),
        (["schedule", "show", "match-42"], "'match-42' is no schedule id, which is a UUID"),
        (["schedule", "delete", "match-42"], "is no schedule id"),
        (["publish", "a", "--content-state", "{}", "--at", "+2h", "--replace", "b"], "'b' is no schedule id"),
    ])
    func `a name in the place of an id is called so`(arguments: [String], words: String) async throws {
        let command = try #require(try await Lamplighter.asyncParseAsRoot(arguments) as? any CheckedCommand)
        let error = #expect(throws: ValidationError.self) { try command.check() }
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
    }

    /// All commands, with those in commands.
    private static func commands(_ start: any ParsableCommand.Type) -> [any ParsableCommand.Type] {
        [start] + start.configuration.subcommands.flatMap(commands)
    }

    @Test func `examples fit 80 columns, so that they can be pasted`() {
        for command in Self.commands(Lamplighter.self) {
            let lines = command.configuration.discussion.split(separator: "\n")
            guard let start = lines.firstIndex(where: { $0.hasPrefix("Example") }) else { continue }
            var goesOn = false
            for line in lines[(start + 1)...].prefix(while: { $0.hasPrefix("  ") }) {
                #expect(line.count < 80, "\(line)")
                #expect(line.hasPrefix(goesOn ? "    " : "  lamplighter "), "\(line)")
                goesOn = line.hasSuffix(" \\")
            }
            #expect(!goesOn, "\(lines)")
        }
    }

    @Test(arguments: [
        ("a b c", 3, ["a b", "  c"]), ("abc", 1, ["abc"]), ("ab cd", 2, ["ab", "  cd"]), ("", 5, [""]),
    ])
    func `text is wrapped at spaces`(text: String, width: Int, lines: [String]) {
        #expect(text.wrapped(to: width, indent: 2) == lines)
    }
}
