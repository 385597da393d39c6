import Answers
import ArgumentParser
import StrictJSON

struct QuarantineCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        name: "quarantine", "List quarantined tokens, release them, or discard them.",
        details: """
            The prune guard quarantines tokens when APNs calls unusually many of them wrong (400 BadDeviceToken, \
            DeviceTokenNotForTopic). Then the key, the topic or the environment is more likely wrong than the tokens \
            are. Quarantined tokens stay registered, but pushes skip them until an operator decides. Release them once \
            the cause is corrected. Discard them if they are really dead.
            """,
        examples: "quarantine list", "quarantine release match-42", "quarantine discard --all",
        subcommands: [List.self, Release.self, Discard.self], defaultSubcommand: List.self)

    struct List: GatewayCommand {
        static let configuration = CommandConfiguration(
            "List the names that have quarantined tokens.", examples: "quarantine list", "quarantine list --json")

        @OptionGroup var gateway: GatewayOptions
        @Option(help: .value("number", "List at most this many names.")) var limit = 100

        var request: GatewayRequest { .get("/api/quarantine", ["limit": "\(limit)"]) }
        func lines(_ answer: QuarantineAnswer) -> [String] {
            Table.list(
                answer.names, nothing: "nothing is quarantined", total: answer.totalNames, words: "names in all",
                .text("NAME") { $0.name ?? "start tokens of \($0.attributesType ?? "?")" },
                .count("TOKENS", \.tokens), .time("SINCE", \.since),
                .text("REASONS") { $0.reasons.joined(separator: ", ") })
        }
    }

    struct Release: GatewayCommand, CheckedCommand {
        static let configuration = CommandConfiguration(
            "Send to quarantined tokens again, from the next push on.", examples: "quarantine release match-42",
            "quarantine release --attributes-type MatchAttributes", "quarantine release --all")

        @OptionGroup var gateway: GatewayOptions
        @OptionGroup var choice: Choice

        func check() throws { try choice.check() }

        var request: GatewayRequest { choice.request("/api/quarantine/release") }
        func lines(_ result: ReleasedAnswer) -> [String] {
            let (tokens, names) = (Terminal.grouped(result.released), Terminal.grouped(result.names))
            return ["\(tokens) tokens of \(names) names are sent to again"]
        }
    }

    struct Discard: GatewayCommand, CheckedCommand {
        static let configuration = CommandConfiguration(
            "Prune quarantined tokens, each only if its channel still has this very token. It asks first on a terminal.",
            examples: "quarantine discard match-42", "quarantine discard --all --yes --json")

        @OptionGroup var gateway: GatewayOptions
        @OptionGroup var choice: Choice
        @OptionGroup var asking: Asking

        func check() throws { try choice.check() }

        func run() async throws {
            try await asking.confirm(question, kept: "nothing was pruned")
            try await gateway.call(request, lines: lines)
        }

        private func question() async throws -> String {
            let list = GatewayRequest.get("/api/quarantine", ["limit": "1000"])
            let words = try await gateway.client().count(list) { (answer: QuarantineAnswer) in choice.words(answer) }
            return "Prune \(words ?? "these tokens")? Their devices get nothing until they register again."
        }

        var request: GatewayRequest { choice.request("/api/quarantine/discard") }
        func lines(_ result: DiscardedAnswer) -> [String] {
            let rest = [("have a newer token", result.newer), ("no longer follow", result.gone)]
                .filter { $0.1 > 0 }.map { "; \(Terminal.grouped($0.1)) \($0.0)" }.joined()
            let (tokens, names) = (Terminal.grouped(result.pruned), Terminal.grouped(result.names))
            return ["\(tokens) tokens of \(names) names are pruned\(rest)"]
        }
    }

    /// One name, the start tokens of a type, or all. The user must say which: a discarded token cannot be restored.
    struct Choice: ParsableArguments {
        @Argument(help: "Name of the activity.", completion: .names) var name: String?
        @Option(help: .value("type", "The start tokens of this attributes type.")) var attributesType: String?
        @Flag(help: "Every name of the app.") var all = false

        func check() throws {
            guard [name != nil, attributesType != nil, all].count(where: { $0 }) == 1 else {
                throw ValidationError("give a name, or --all; for start tokens --attributes-type")
            }
        }

        /// The tokens that it chooses, counted.
        func words(_ answer: QuarantineAnswer) -> String {
            let chosen = answer.names.filter { all || ($0.name, $0.attributesType) == (name, attributesType) }
            let tokens = Terminal.counted(chosen.reduce(0) { $0 + $1.tokens }, "token")
            if all {
                let least = answer.totalNames > answer.names.count ? "at least " : ""
                return "\(least)\(tokens) of \(Terminal.counted(answer.totalNames, "name"))"
            }
            // A list of names has a limit, so a name may be missing.
            return "\(chosen.isEmpty ? "the tokens" : tokens) of \(name ?? "starts of \(attributesType ?? "")")"
        }

        func request(_ path: GatewayPath) -> GatewayRequest {
            let body = JSON.fields(["name": name.map(JSON.string), "attributes_type": attributesType.map(JSON.string)])
            return .post(path, body).within(.seconds(600))
        }
    }
}
