import Answers
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

    struct List: GatewayCommand {
        static let configuration = CommandConfiguration(
            "List dead letters, the latest first.", examples: "dead list", "dead list --limit 20 --json")

        @OptionGroup var gateway: GatewayOptions
        @Option(help: .value("number", "List at most this many.")) var limit = 100
        @Option(help: .value("id", "List the dead letters after this push.")) var after: String?

        var request: GatewayRequest { .get("/api/dead", ["limit": "\(limit)", "after": after]) }
        func lines(_ answer: DeadLettersAnswer) -> [String] {
            Table.list(
                answer.dead, nothing: "no dead letters", total: answer.total, next: answer.next,
                .id("PUSH", \.pushID), .text("NAME", \.name), .count("TOKENS", \.tokens), .time("AT", \.at),
                .text("WHY", \.why))
        }
    }

    struct Show: GatewayCommand, CheckedCommand {
        static let configuration = CommandConfiguration(
            "Show what one push gave up, and why.", examples: "dead show 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10")

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "Id of the push.") var id: String

        func check() throws { try checkDeadLetter(id) }

        var request: GatewayRequest { .get("/api/dead/\(id)") }
        func lines(_ letter: DeadLetterAnswer) -> [String] {
            var table = Table(fields: [
                "push": letter.pushID, "name": letter.name, "at": letter.at, "stopped early": letter.stopped,
                "tokens": Terminal.grouped(letter.tokens),
            ])
            for (reason, count) in Terminal.ranked(letter.reasons) { table.add("  \(reason)", Terminal.grouped(count)) }
            table.add("kept for a retry", Terminal.grouped(letter.kept))
            if letter.notKept > 0 { table.add("not kept", Terminal.grouped(letter.notKept)) }
            return table.lines
        }
    }

    struct Retry: GatewayCommand, CheckedCommand {
        static let configuration = CommandConfiguration(
            "Send once more what a push gave up.",
            details: """
                A push that was stopped early goes on where it stopped. The gateway refuses the retry if a newer push \
                went out under the name, or if the push has expired. Publish the present state then.
                """,
            examples: "dead retry 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10")

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "Id of the push.") var id: String

        func check() throws { try checkDeadLetter(id) }

        var request: GatewayRequest { .post("/api/dead/\(id)/retry") }
        func lines(_ answer: RetriedAnswer) -> [String] {
            let rest = answer.resumed ? "; the push goes on where it was stopped" : ""
            return ["\(Terminal.grouped(answer.retried)) tokens are tried again\(rest)"]
        }
    }

    struct Drop: CheckedCommand {
        static let configuration = CommandConfiguration(
            "Delete the dead letter of a push. Its ledger stays. It asks first on a terminal.",
            examples: "dead drop 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10")

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "Id of the push.") var id: String

        @OptionGroup var asking: Asking

        func check() throws { try checkDeadLetter(id) }

        func run() async throws {
            let question = {
                let kept = try await gateway.client().count(.get("/api/dead/\(id)")) { (letter: DeadLetterAnswer) in
                    "\(Terminal.counted(letter.kept, "token")) of \(letter.name)"
                }
                return "Drop the dead letter with \(kept ?? "its tokens")? They cannot be retried then."
            }
            try await asking.confirm(question, kept: "nothing was dropped")
            try await gateway.call(.delete("/api/dead/\(id)"), done: "\(id) is dropped")
        }
    }
}

extension DeadLetterAnswer {
    fileprivate var why: String {
        let reasons = Terminal.ranked(reasons).map(\.key).filter { $0 != stopped }
        return ((stopped.map { ["stopped: \($0)"] } ?? []) + reasons).joined(separator: ", ")
    }
}
