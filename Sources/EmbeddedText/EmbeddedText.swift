import FoundationEssentials
import PackagePlugin

/// Makes `PackageResources` of a target's text files: the bytes of each, from a string literal. SwiftPM's own
/// `embedInCode` writes an array of numbers, on which the compiler spends a hundred times as long.
@main
struct EmbeddedText: BuildToolPlugin {
    private static let endings: Set = ["lua", "mustache", "css", "js", "svg", "json"]
    /// Documents that a target shows.
    private static let documents = ["Console": ["docs/runbooks.md"]]

    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        guard let target = target.sourceModule else { return [] }
        let files =
            target.sourceFiles.map(\.url).filter { Self.endings.contains($0.pathExtension) }
            .sorted { $0.path < $1.path }
            + Self.documents[target.name, default: []].map { context.package.directoryURL.appending(path: $0) }
        let script = context.package.directoryURL.appending(path: "bin/embed")
        let output = context.pluginWorkDirectoryURL.appending(path: "PackageResources.swift")
        return [
            .buildCommand(
                displayName: "Embedding the texts of \(target.name)", executable: script,
                arguments: [output.path] + files.map(\.path), inputFiles: files + [script], outputFiles: [output])
        ]
    }
}
