import ArgumentParser
import StrictJSON

/// The words about a command line that cannot be run.
enum Usage {
    /// An error, and how its command is used.
    static func text(_ message: String, of command: any ParsableCommand.Type) -> String {
        let path = path(to: command, from: Lamplighter.self)?.joined(separator: " ") ?? "lamplighter"
        return """
            Error: \(message)
            Usage: \(short(Lamplighter.usageString(for: command)))
              See '\(path) --help' for more information.

            """
    }

    /// The usage without the options that may be left out, which can be ten lines of them.
    private static func short(_ usage: String) -> String {
        var kept: [Substring] = []
        var isOption = false
        for word in usage.split(separator: " ") {
            if word.hasPrefix("[-") || word.hasPrefix("[<") && isOption { isOption = true }
            if !isOption { kept.append(word) }
            if word.hasSuffix("]") || word.hasSuffix("]...") { isOption = false }
        }
        return kept.joined(separator: " ") + (usage.contains("[-") ? " [options]" : "")
    }

    /// The words that lead to a command, from the program's name on.
    private static func path(
        to command: any ParsableCommand.Type, from start: any ParsableCommand.Type
    ) -> [String]? {
        if command == start { return [start._commandName] }
        for next in start.configuration.subcommands {
            if let rest = path(to: command, from: next) { return [start._commandName] + rest }
        }
        return nil
    }

    /// The mistake in arguments that the parser refuses, where its own words do not help. Nil where they do.
    static func misunderstood(_ arguments: [String]) -> (message: String, command: any ParsableCommand.Type)? {
        var command: any ParsableCommand.Type = Lamplighter.self
        for argument in arguments {
            let known = command.configuration.subcommands
            if let next = known.first(where: { $0._commandName == argument }) {
                command = next
                continue
            }
            if known.isEmpty { return nil }
            if argument.hasPrefix("-") { return command == Lamplighter.self ? early(arguments, known) : nil }
            if let near = known.map({ $0._commandName }).nearest(to: argument) {
                return ("'\(argument)' is no command; did you mean '\(near)'?", command)
            }
            return command.configuration.defaultSubcommand == nil ? ("'\(argument)' is no command", command) : nil
        }
        return nil
    }

    /// Options that stand before the command.
    private static func early(
        _ arguments: [String], _ known: [any ParsableCommand.Type]
    ) -> (message: String, command: any ParsableCommand.Type)? {
        for (index, argument) in arguments.enumerated() {
            guard let command = known.first(where: { $0._commandName == argument }) else { continue }
            let moved = [argument] + arguments[..<index] + arguments[(index + 1)...]
            return (
                "options stand behind the command, as in 'lamplighter \(moved.joined(separator: " "))'", command
            )
        }
        return nil
    }
}
