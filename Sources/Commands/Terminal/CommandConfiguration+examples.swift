import ArgumentParser

extension CommandConfiguration {
    /// A subcommand needs no `name`, because it follows from its type. `lamplighter` is put before each example.
    init(
        name: String? = nil, _ abstract: String, details: String = "", featureExamples: [String] = [],
        examples: String...,
        subcommands: [any ParsableCommand.Type] = [], defaultSubcommand: (any ParsableCommand.Type)? = nil
    ) {
        let examples = featureExamples + examples
        let title = examples.count > 1 ? "Examples:" : "Example:"
        let lines = examples.flatMap { Self.lines(of: "lamplighter " + $0) }
        self.init(
            commandName: name, abstract: abstract,
            discussion: (details.isEmpty ? "" : details + "\n\n") + ([title] + lines).joined(separator: "\n"),
            subcommands: subcommands, defaultSubcommand: defaultSubcommand)
    }

    /// The parser's help wraps at 80 columns, also within a command. A longer example is broken before options, so that
    /// a shell takes it as it is shown.
    private static func lines(of example: String) -> [String] {
        var lines = [""]
        for part in parts(of: example) {
            let line = lines[lines.count - 1]
            let isFirst = line.isEmpty
            if isFirst || line.count + part.count < 75 {
                lines[lines.count - 1] = isFirst ? part : line + " " + part
            } else {
                lines.append("  " + part)
            }
        }
        return lines.enumerated().map { "  " + $1 + ($0 < lines.count - 1 ? " \\" : "") }
    }

    /// Cuts before options and redirections that stand outside quotes.
    private static func parts(of example: String) -> [String] {
        var parts = [""]
        var isQuoted = false
        for word in example.split(separator: " ", omittingEmptySubsequences: false) {
            if !isQuoted, word.hasPrefix("--") || word.hasPrefix("<") {
                parts.append(String(word))
            } else {
                parts[parts.count - 1] += (parts[parts.count - 1].isEmpty ? "" : " ") + word
            }
            if !word.count(where: { $0 == "'" }).isMultiple(of: 2) { isQuoted.toggle() }
        }
        return parts
    }
}
