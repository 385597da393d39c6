import ArgumentParser

extension CommandConfiguration {
    /// A subcommand needs no `name`, because it follows from its type. `lamplighter` is put before each example.
    init(
        name: String? = nil, _ abstract: String, details: String = "", examples: String...,
        subcommands: [any ParsableCommand.Type] = [], defaultSubcommand: (any ParsableCommand.Type)? = nil
    ) {
        let lines = [examples.count > 1 ? "Examples:" : "Example:"] + examples.map { "  lamplighter \($0)" }
        self.init(
            commandName: name, abstract: abstract,
            discussion: (details.isEmpty ? "" : details + "\n\n") + lines.joined(separator: "\n"),
            subcommands: subcommands, defaultSubcommand: defaultSubcommand)
    }
}
