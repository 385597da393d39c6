import Answers
import ArgumentParser
import LiveActivity

struct PushCommand: CheckedCommand {
    static let configuration = CommandConfiguration(
        name: "push", "Show the ledger of a push or whom it missed, wait for its end, or cancel what is unsent.",
        details: "A cancellation asks first on a terminal. \(ExitStatus.ofWait)",
        examples: "push 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10",
        "push 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10 --wait --json",
        "push 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10 --channels", "push 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10 --trace",
        "push 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10 --cancel")

    @OptionGroup var gateway: GatewayOptions
    @Argument(help: "Id of the push, as 'publish' printed it.") var id: String
    @Flag(help: "Wait until every token has an outcome.") var wait = false
    @Option(help: .failBelow) var failBelow: Percent?
    @Flag(help: "Cancel what is unsent.") var cancel = false
    @OptionGroup var asking: Asking
    @Flag(help: "List the channels that were pruned or given up, as far as they are kept (1,000 and 10,000).")
    var channels = false
    @Flag(help: "Show the exchanges with APNs or FCM of the channel that it was published to trace.") var trace = false

    func check() throws {
        try check(id, isIDOf: "push", "'lamplighter history \(id)' lists the pushes of a name")
        if failBelow != nil, !wait { throw ValidationError("--fail-below needs --wait") }
        guard [cancel, channels, trace].count(where: { $0 }) < 2 else {
            throw ValidationError("--cancel, --channels and --trace are different requests: give one of them")
        }
    }

    func run() async throws {
        if trace {
            return try await TraceWatch(client: gateway.client(), pushID: id).report(json: gateway.json, waits: wait)
        }
        if channels {
            return try await gateway.call(.get("/api/push/\(id)/channels")) { (answer: UnlitChannelsAnswer) in
                Table.list(
                    answer.channels, nothing: "no channel was pruned or given up",
                    .id("CHANNEL", \.channelID), .text("OUTCOME", \.outcome), .text("REASON", \.reason))
            }
        }
        if cancel { try await asking.confirm(question, kept: "nothing was cancelled") }
        let request: GatewayRequest = cancel ? .delete("/api/push/\(id)") : .get("/api/push/\(id)")
        guard wait else { return try await gateway.call(request) { (ledger: LedgerAnswer) in ledger.lines } }
        let client = try gateway.client()
        if cancel { _ = try await client.send(request) }
        try await PushWatch(client: client, pushID: id).report(json: gateway.json, failBelow: failBelow)
    }

    private func question() async throws -> String {
        let push = try await gateway.client().count(.get("/api/push/\(id)")) { (ledger: LedgerAnswer) in
            let counts = "\(Terminal.grouped(ledger.delivered)) of \(Terminal.counted(ledger.targets, "target"))"
            return "the \(ledger.event) of \(ledger.name)? \(counts) have it and keep it."
        }
        return "Cancel \(push ?? "push \(id)?")"
    }
}
