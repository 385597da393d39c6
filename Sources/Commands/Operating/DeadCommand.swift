import ArgumentParser

/// `lamplighter dead`: manages dead letters, the tokens that pushes gave up.
struct DeadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead",
        abstract: "List what pushes gave up, try it again, or drop it.",
        discussion: """
            A dead letter is what one push gave up: tokens whose attempts were used up, the rest of a push that was \
            stopped early, and tokens for which a push expired unsent. What expired is only counted: it cannot be tried \
            again. Dead letters are kept for seven days; a newer push makes them worthless.

            Examples:
              lamplighter dead list
              lamplighter dead show 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10
              lamplighter dead retry 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10
              lamplighter dead drop 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10
            """,
        subcommands: [List.self, Show.self, Retry.self, Drop.self], defaultSubcommand: List.self)

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List dead letters, the latest first.",
            discussion: """
                Examples:
                  lamplighter dead list
                  lamplighter dead list --limit 20 --json
                """)

        @OptionGroup var global: GlobalOptions
        @OptionGroup var gateway: GatewayOptions
        @Option(name: .long, help: ArgumentHelp("List at most this many.", valueName: "number"))
        var limit = 100
        @Option(name: .long, help: ArgumentHelp("List those after this push.", valueName: "id"))
        var after: String?

        func run() async throws {
            let client = try gateway.client(global)
            let query = "limit=\(limit)" + (after.map { "&after=\(GatewayClient.segment($0))" } ?? "")
            let answer = try await client.send("GET", "/api/dead?\(query)")
            if global.json { return Terminal.print(json: answer) }
            let listing = try GatewayClient.decode(Listing.self, answer)
            guard !listing.dead.isEmpty else { return Terminal.print("no dead letters") }
            var table = Table(.left, .left, .right, .left, .left)
            table.add("PUSH", "NAME", "TOKENS", "AT", "WHY")
            for letter in listing.dead {
                table.add(letter.push_id, letter.name, Terminal.grouped(letter.tokens), letter.at, letter.why)
            }
            table.print()
            if listing.total > listing.dead.count {
                Terminal.print("\(Terminal.grouped(listing.total)) in all")
            }
        }

        private struct Listing: Decodable {
            var total: Int
            var dead: [Letter]
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show what one push gave up, and why.",
            discussion: """
                Example:
                  lamplighter dead show 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10
                """)

        @OptionGroup var global: GlobalOptions
        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "Id of the push.")
        var id: String

        func run() async throws {
            let answer = try await gateway.client(global).send("GET", "/api/dead/\(GatewayClient.segment(id))")
            if global.json { return Terminal.print(json: answer) }
            let letter = try GatewayClient.decode(Letter.self, answer)
            var table = Table(.left, .left)
            table.add("push", letter.push_id)
            table.add("name", letter.name)
            table.add("at", letter.at)
            if let stopped = letter.stopped { table.add("stopped early", stopped) }
            table.add("tokens", Terminal.grouped(letter.tokens))
            for (reason, count) in letter.reasons.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }) {
                table.add("  \(reason)", Terminal.grouped(count))
            }
            table.add("kept for a retry", Terminal.grouped(letter.kept))
            if let lost = letter.not_kept, lost > 0 { table.add("not kept", Terminal.grouped(lost)) }
            table.print()
        }
    }

    struct Retry: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Send once more what a push gave up.",
            discussion: """
                A push that was stopped goes on where it stopped. Refused when a newer push went out under the name, or \
                when its time is over: publish the present state then.

                Example:
                  lamplighter dead retry 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10
                """)

        @OptionGroup var global: GlobalOptions
        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "Id of the push.")
        var id: String

        func run() async throws {
            let answer = try await gateway.client(global).send("POST", "/api/dead/\(GatewayClient.segment(id))/retry")
            if global.json { return Terminal.print(json: answer) }
            let retried = try GatewayClient.decode(Retried.self, answer)
            let rest = retried.resumed ? "; the push goes on where it was stopped" : ""
            Terminal.print("\(Terminal.grouped(retried.retried)) tokens are tried again\(rest)")
        }

        private struct Retried: Decodable {
            var retried: Int
            var resumed: Bool
        }
    }

    struct Drop: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Forget what a push gave up; its ledger stays.",
            discussion: """
                Example:
                  lamplighter dead drop 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10
                """)

        @OptionGroup var global: GlobalOptions
        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "Id of the push.")
        var id: String

        func run() async throws {
            _ = try await gateway.client(global).send("DELETE", "/api/dead/\(GatewayClient.segment(id))")
            Terminal.print(global.json ? #"{"ok":true}"# : "\(id) is dropped")
        }
    }

    /// A dead letter as `GET /api/dead/{push_id}` returns it.
    struct Letter: Decodable {
        var push_id: String
        var name: String
        var at: String
        var stopped: String?
        var tokens: Int
        var kept: Int
        /// Absent in the response of an older gateway.
        var not_kept: Int?
        var reasons: [String: Int]

        var why: String {
            let reasons = reasons.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map(\.key)
            let first = stopped.map { ["stopped: \($0)"] } ?? []
            return (first + reasons.filter { $0 != stopped }).joined(separator: ", ")
        }
    }
}
