import ArgumentParser
import Curl
import StrictJSON

struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Let many channels follow a name, from NDJSON or CSV of any length.",
        discussion: """
            NDJSON has {"channel":"…","token":"…hex…"} on each line. CSV begins with a line of column names, of which \
            channel and token are required. Both may have registered_at_ms, started_at_ms, activity_id and \
            frequent_pushes_enabled. The column options.catch_up is "options":{"catch_up":true} in NDJSON.

            With --start-tokens the tokens are push-to-start tokens of an attributes type, and no name is followed.

            The command lists rejected lines and then exits with code 1. All other lines are registered.

            Examples:
              lamplighter import devices.ndjson --name match-42
              lamplighter import tokens.ndjson --start-tokens MatchAttributes
              lamplighter import devices.csv --name match-42
              zcat devices.ndjson.gz | lamplighter import - --name match-42 --json
            """)

    @OptionGroup var gateway: GatewayOptions
    @Argument(help: "File to read. A dash reads stdin.") var file: String
    @Option(help: .value("name", "Name of the activity to follow.")) var name: String?
    @Option(help: .value("type", "The tokens are push-to-start tokens of this attributes type."))
    var startTokens: String?
    @Option(help: .value("format", "ndjson or csv. The default depends on the file's first character."))
    var format: ImportFormat?

    func validate() throws {
        guard (name == nil) != (startTokens == nil) else { throw ValidationError("give --name or --start-tokens") }
    }

    /// The path of the bulk call, and words for its outcome.
    private var target: (path: GatewayPath, outcome: String) {
        if let startTokens {
            return ("/api/start-tokens/\(startTokens)/channels", "channels can be sent a start of \(startTokens)")
        }
        let name = name ?? ""
        return ("/api/activities/\(name)/channels", "channels follow \(name)")
    }

    func run() async throws {
        let client = try gateway.client()
        let source = try ImportSource(path: file, format: format)
        // A long file takes a long time. The connection itself notices a gateway that went away.
        var request = GatewayRequest.post(target.path).within(.seconds(7 * 24 * 3_600))
        request.body = .stream { try source.next() }
        let answer: [UInt8]
        do {
            answer = try await client.send(request)
        } catch {
            source.abandon()
            throw source.failure ?? error
        }
        let result: Result = try GatewayClient.decode(answer)
        let rejected =
            (result.rejected.map { Result.Rejected(line: source.line(of: $0.line), error: $0.error) } + source.rejected)
            .sorted { $0.line < $1.line }
        source.finish()
        if gateway.json {
            let report: JSON = [
                "ok": .bool(rejected.isEmpty), "accepted": .integer(result.accepted),
                "rejected": .array(rejected.map { ["line": .integer($0.line), "error": .string($0.error)] }),
            ]
            Terminal.print(report.text)
        } else {
            for entry in rejected { Terminal.print("line \(entry.line): \(entry.error)") }
            let rest = rejected.isEmpty ? "" : ", \(Terminal.grouped(rejected.count)) lines rejected"
            Terminal.print("\(Terminal.grouped(result.accepted)) \(target.outcome)\(rest)")
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

enum ImportFormat: String, ExpressibleByArgument { case ndjson, csv }
