import ArgumentParser
import Curl

/// `lamplighter quarantine`: manages tokens that the prune guard put into quarantine.
struct QuarantineCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "quarantine",
        abstract: "List tokens that the prune guard holds back, release them, or discard them.",
        discussion: """
            When APNs calls unusually many tokens wrong (400 BadDeviceToken, DeviceTokenNotForTopic), the key, the topic or \
            the environment is more likely wrong than the tokens are. They are kept then and not sent to, until somebody \
            decides: release them once the cause is corrected, discard them if they are really dead.

            Examples:
              lamplighter quarantine list
              lamplighter quarantine release match-42
              lamplighter quarantine discard --all
            """,
        subcommands: [List.self, Release.self, Discard.self], defaultSubcommand: List.self)

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the names that hold quarantined tokens.",
            discussion: """
                Examples:
                  lamplighter quarantine list
                  lamplighter quarantine list --json
                """)

        @OptionGroup var global: GlobalOptions
        @OptionGroup var gateway: GatewayOptions
        @Option(name: .long, help: ArgumentHelp("List at most this many names.", valueName: "number"))
        var limit = 100

        func run() async throws {
            let answer = try await gateway.client(global).send("GET", "/api/quarantine?limit=\(limit)")
            if global.json { return Terminal.print(json: answer) }
            let listing = try GatewayClient.decode(Listing.self, answer)
            guard !listing.names.isEmpty else { return Terminal.print("nothing is quarantined") }
            var table = Table(.left, .right, .left, .left)
            table.add("NAME", "TOKENS", "SINCE", "REASONS")
            for entry in listing.names {
                table.add(
                    entry.name ?? "start tokens of \(entry.attributes_type ?? "?")", Terminal.grouped(entry.tokens),
                    entry.since, entry.reasons.joined(separator: ", "))
            }
            table.print()
            if listing.total_names > listing.names.count {
                Terminal.print("\(Terminal.grouped(listing.total_names)) names in all")
            }
        }

        private struct Listing: Decodable {
            struct Entry: Decodable {
                var name: String?
                var attributes_type: String?
                var tokens: Int
                var since: String
                var reasons: [String]
            }
            var total_names: Int
            var names: [Entry]
        }
    }

    struct Release: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Send to quarantined tokens again, from the next push on.",
            discussion: """
                Examples:
                  lamplighter quarantine release match-42
                  lamplighter quarantine release --attributes-type MatchAttributes
                  lamplighter quarantine release --all
                """)

        @OptionGroup var global: GlobalOptions
        @OptionGroup var gateway: GatewayOptions
        @OptionGroup var choice: Choice

        func run() async throws {
            let answer = try await choice.send("release", gateway.client(global))
            if global.json { return Terminal.print(json: answer) }
            let result = try GatewayClient.decode(Result.self, answer)
            Terminal.print(
                "\(Terminal.grouped(result.released)) tokens of \(Terminal.grouped(result.names)) names are sent to again"
            )
        }

        private struct Result: Decodable {
            var names: Int
            var released: Int
        }
    }

    struct Discard: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prune quarantined tokens, each only if its channel still has that very token.",
            discussion: """
                Examples:
                  lamplighter quarantine discard match-42
                  lamplighter quarantine discard --all --json
                """)

        @OptionGroup var global: GlobalOptions
        @OptionGroup var gateway: GatewayOptions
        @OptionGroup var choice: Choice

        func run() async throws {
            let answer = try await choice.send("discard", gateway.client(global))
            if global.json { return Terminal.print(json: answer) }
            let result = try GatewayClient.decode(Result.self, answer)
            let rest = [("have a newer token", result.newer), ("no longer follow", result.gone)]
                .filter { $0.1 > 0 }.map { "; \(Terminal.grouped($0.1)) \($0.0)" }.joined()
            Terminal.print(
                "\(Terminal.grouped(result.pruned)) tokens of \(Terminal.grouped(result.names)) names are pruned\(rest)"
            )
        }

        private struct Result: Decodable {
            var names: Int
            var pruned: Int
            var newer: Int
            var gone: Int
        }
    }

    /// One name, the start tokens of a type, or all. The user must say which one, because a discarded
    /// token cannot be restored.
    struct Choice: ParsableArguments {
        @Argument(help: "Name of the activity.")
        var name: String?
        @Option(name: .long, help: ArgumentHelp("The start tokens of this attributes type.", valueName: "type"))
        var attributesType: String?
        @Flag(name: .long, help: "Every name of the app.")
        var all = false

        func validate() throws {
            guard [name != nil, attributesType != nil, all].count(where: { $0 }) == 1 else {
                throw ValidationError("give a name, or --all; for start tokens --attributes-type")
            }
        }

        func send(_ verb: String, _ client: GatewayClient) async throws -> [UInt8] {
            let body = CommandJSON.object([
                ("name", name.map(CommandJSON.quoted)), ("attributes_type", attributesType.map(CommandJSON.quoted)),
            ])
            return try await client.send(
                "POST", "/api/quarantine/\(verb)", body: .bytes(Array(body.utf8)), timeout: .seconds(600))
        }
    }
}
