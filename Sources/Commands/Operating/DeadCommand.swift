import ArgumentParser

struct DeadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        name: "dead", "List the dead letters of pushes, retry them, or drop them.",
        details: """
            A dead letter holds what one push gave up: tokens whose attempts were used up, the rest of a push that was \
            stopped early, and tokens for which the push expired unsent. Expired tokens are only counted and cannot be \
            retried. Dead letters are kept for pushes.expire_after. A newer push under the name makes them useless.
            """,
        examples: "dead list", "dead show 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10",
        "dead retry 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10", "dead drop 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10",
        subcommands: [List.self, Show.self, Retry.self, Drop.self], defaultSubcommand: List.self)

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "List dead letters, the latest first.", examples: "dead list", "dead list --limit 20 --json")

        @OptionGroup var gateway: GatewayOptions
        @Option(help: .value("number", "List at most this many.")) var limit = 100
        @Option(help: .value("id", "List the dead letters after this push.")) var after: String?

        func run() async throws {
            try await gateway.call(.get("/api/dead", ["limit": "\(limit)", "after": after])) { (listing: Listing) in
                guard !listing.dead.isEmpty else { return ["no dead letters"] }
                var table = Table(.left, .left, .right, .left, .left)
                table.add("PUSH", "NAME", "TOKENS", "AT", "WHY")
                for letter in listing.dead {
                    table.add(letter.push_id, letter.name, Terminal.grouped(letter.tokens), letter.at, letter.why)
                }
                return table.lines + Terminal.total(listing.total, shown: listing.dead.count)
            }
        }

        private struct Listing: Decodable {
            var total: Int
            var dead: [Letter]
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "Show what one push gave up, and why.", examples: "dead show 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10")

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "Id of the push.") var id: String

        func run() async throws {
            try await gateway.call(.get("/api/dead/\(id)")) { (letter: Letter) in
                var table = Table(fields: [
                    "push": letter.push_id, "name": letter.name, "at": letter.at, "stopped early": letter.stopped,
                    "tokens": Terminal.grouped(letter.tokens),
                ])
                for (reason, count) in Terminal.ranked(letter.reasons) {
                    table.add("  \(reason)", Terminal.grouped(count))
                }
                table.add("kept for a retry", Terminal.grouped(letter.kept))
                if let lost = letter.not_kept, lost > 0 { table.add("not kept", Terminal.grouped(lost)) }
                return table.lines
            }
        }
    }

    struct Retry: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "Send once more what a push gave up.",
            details: """
                A push that was stopped early goes on where it stopped. The gateway refuses the retry if a newer push \
                went out under the name, or if the push has expired. Publish the present state then.
                """,
            examples: "dead retry 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10")

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "Id of the push.") var id: String

        func run() async throws {
            try await gateway.call(.post("/api/dead/\(id)/retry")) { (answer: Retried) in
                let rest = answer.resumed ? "; the push goes on where it was stopped" : ""
                return ["\(Terminal.grouped(answer.retried)) tokens are tried again\(rest)"]
            }
        }

        private struct Retried: Decodable {
            var retried: Int
            var resumed: Bool
        }
    }

    struct Drop: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "Delete the dead letter of a push. Its ledger stays.",
            examples: "dead drop 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10")

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "Id of the push.") var id: String

        func run() async throws { try await gateway.call(.delete("/api/dead/\(id)"), done: "\(id) is dropped") }
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
            let reasons = Terminal.ranked(reasons).map(\.key).filter { $0 != stopped }
            return ((stopped.map { ["stopped: \($0)"] } ?? []) + reasons).joined(separator: ", ")
        }
    }
}
