import Answers
import ArgumentParser
import Curl
import StrictJSON

/// The options of every `import`: a file, whose lines are uploaded in one request.
struct ImportOptions: ParsableArguments {
    @OptionGroup var gateway: GatewayOptions
    @Argument(help: "File to read. A dash reads stdin.") var file: String
    @Option(help: .value("format", "ndjson or csv. The default depends on the file's first character."))
    var format: ImportFormat?
    @Flag(help: "Change nothing. Say which lines would be rejected.") var dryRun = false

    /// Uploads the file and prints the outcome. `outcome` says it of the number of lines that were applied.
    /// - Throws: after that, with code 1, if lines were rejected.
    func run(_ path: GatewayPath, _ form: CSVForm, _ outcome: (Int) -> String) async throws {
        let client = try gateway.client()
        let source = try ImportSource(path: file, format: format, form: form)
        // A long file takes a long time. The connection itself notices a gateway that went away.
        var request = GatewayRequest.post(path, query: ["dry_run": dryRun ? "true" : nil]).within(
            .seconds(7 * 24 * 3_600))
        if dryRun { request.change = nil }
        request.body = .stream({ try source.next() }, length: source.length)
        let answer: [UInt8]
        do {
            answer = try await client.send(request)
        } catch {
            source.abandon()
            throw source.failure ?? error
        }
        let result: BulkResultAnswer = try GatewayClient.decode(answer)
        let rejected =
            (result.rejected.map { RejectedLine(line: source.line(of: $0.line), error: $0.error) } + source.rejected)
            .sorted { $0.line < $1.line }
        // The gateway lists only the first of many rejected lines.
        let unlisted = result.rejectedCount - result.rejected.count
        source.finish()
        if gateway.json {
            let report: JSON = [
                "ok": .bool(rejected.isEmpty), "accepted": .integer(result.accepted),
                "rejected": .array(rejected.map { ["line": .integer($0.line), "error": .string($0.error)] }),
                "rejected_count": .integer(rejected.count + unlisted),
            ]
            Terminal.print(report.text)
        } else {
            for entry in rejected { Terminal.print("line \(entry.line): \(entry.error)") }
            if unlisted > 0 { Terminal.print("and \(Terminal.counted(unlisted, "further line"))") }
            let rest = rejected.isEmpty ? "" : ", \(Terminal.counted(rejected.count + unlisted, "line")) rejected"
            let lines = Terminal.counted(result.accepted, "line")
            let done = dryRun ? "\(lines) would be applied" : outcome(result.accepted)
            Terminal.print(done + rest)
        }
        if !rejected.isEmpty { throw CommandFailure(.failed, "") }
    }
}

/// A line of the file that was not applied.
struct RejectedLine {
    /// Counts from 1.
    var line: Int
    var error: String
}

enum ImportFormat: String, ExpressibleByArgument { case ndjson, csv }
