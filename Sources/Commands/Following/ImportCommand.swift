import ArgumentParser
import Curl
import Foundation

/// `lamplighter import`: registers many channels at once, streamed from a file or a pipe.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Let many channels follow a name: NDJSON or CSV, of any length.",
        discussion: """
            NDJSON: {"channel":"…","token":"…hex…"} on each line. CSV: a first line with the names of the columns, \
            of which channel and token are needed. Both may have registered_at_ms, started_at_ms, activity_id and \
            frequent_pushes_enabled; NDJSON "options":{"catch_up":true} is the column options.catch_up.

            With --start-tokens the tokens are push-to-start tokens of an attributes type: no name is followed.

            Examples:
              lamplighter import devices.ndjson --name match-42
              lamplighter import tokens.ndjson --start-tokens MatchAttributes
              lamplighter import devices.csv --name match-42
              zcat devices.ndjson.gz | lamplighter import - --name match-42 --json

            Rejected lines are listed and the exit code is 1; all others are taken.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var gateway: GatewayOptions

    @Argument(help: "File to read, - for stdin.")
    var file: String
    @Option(name: .long, help: ArgumentHelp("Name of the activity to follow.", valueName: "name"))
    var name: String?
    @Option(
        name: .long, help: ArgumentHelp("They are push-to-start tokens of this attributes type.", valueName: "type"))
    var startTokens: String?
    @Option(
        name: .long, help: ArgumentHelp("ndjson or csv; default: by the file's first character.", valueName: "format"))
    var format: ImportFormat?

    func validate() throws {
        guard (name == nil) != (startTokens == nil) else { throw ValidationError("give --name or --start-tokens") }
    }

    /// The path of the bulk call, and words for its outcome.
    private var target: (path: String, outcome: String) {
        if let startTokens {
            let path = "/api/start-tokens/\(GatewayClient.segment(startTokens))/channels"
            return (path, "channels can be sent a start of \(startTokens)")
        }
        let name = name ?? ""
        return ("/api/activities/\(GatewayClient.segment(name))/channels", "channels follow \(name)")
    }

    func run() async throws {
        let client = try gateway.client(global)
        let source = try ImportSource(path: file, format: format)
        let answer: [UInt8]
        do {
            answer = try await client.send(
                "POST", target.path,
                headers: [("Content-Type", "application/x-ndjson")],
                body: .stream { try source.next() },
                // A long file takes a long time. The connection itself notices a gateway that went away.
                timeout: .seconds(7 * 24 * 3_600))
        } catch {
            source.abandon()
            throw source.failure ?? error
        }
        let result = try GatewayClient.decode(Result.self, answer)
        let rejected =
            (result.rejected.map { Result.Rejected(line: source.line(of: $0.line), error: $0.error) } + source.rejected)
            .sorted { $0.line < $1.line }
        source.finish()
        if global.json {
            let lines = rejected.map { #"{"line":\#($0.line),"error":\#(CommandJSON.quoted($0.error))}"# }
            Terminal.print(
                #"{"ok":\#(rejected.isEmpty),"accepted":\#(result.accepted),"rejected":[\#(lines.joined(separator: ","))]}"#
            )
        } else {
            for entry in rejected { Terminal.print("line \(entry.line): \(entry.error)") }
            Terminal.print(
                "\(Terminal.grouped(result.accepted)) \(target.outcome)"
                    + (rejected.isEmpty ? "" : ", \(Terminal.grouped(rejected.count)) lines rejected"))
        }
        if !rejected.isEmpty { throw CommandFailure(.failed, "") }
    }

    struct Result: Decodable {
        struct Rejected: Decodable {
            var line: Int
            var error: String
        }
        var accepted: Int
        var rejected: [Rejected]
    }
}

enum ImportFormat: String, ExpressibleByArgument {
    case ndjson, csv
}
