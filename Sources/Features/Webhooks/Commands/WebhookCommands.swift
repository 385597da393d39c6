import Answers
import ArgumentParser
import LiveActivity
import Settings
import StrictJSON

/// The commands about an app's webhook, below `events`.
enum WebhookCommands {
    struct Test: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "Post a test event to the webhook, from this machine, and show the answer.",
            details: "The test event does not go through Redis. The exit code is 1 if the webhook does not accept it.",
            examples: "events test", "events test --app shop --json")

        @OptionGroup var global: GlobalOptions
        @Option(help: .value("key", "Key of the app. It is needed if several apps are configured.")) var app: String?

        func run() async throws { try await WebhookTest(settings: global.settings(), app: app).run(json: global.json) }
    }

    struct Dead: GatewayCommand {
        static let configuration = CommandConfiguration(
            "List the events that the webhook did not take, the latest first.",
            examples: "events dead", "events dead --limit 20 --json")

        @OptionGroup var gateway: GatewayOptions
        @Option(help: .value("number", "List at most this many.")) var limit = 100
        @Option(help: .value("entry", "List the events before this one.")) var after: String?

        var request: GatewayRequest { .get("/api/webhook/dead", ["limit": "\(limit)", "after": after]) }
        func lines(_ answer: DeadEventsAnswer) -> [String] {
            Table.list(
                answer.dead, nothing: "no dead events", next: answer.next,
                .id("ENTRY", \.entry), .time("ADDED", rank: 1, \.addedAt), .text("TYPE") { $0.told?.type ?? "" },
                .text("NAME OR ALARM") { $0.told?.push?.name ?? $0.told?.alarm?.kind ?? "" }, .text("WHY", \.reason))
        }
    }

    struct Retry: GatewayCommand, CheckedCommand {
        static let configuration = CommandConfiguration(
            "Put dead events behind those that wait for the webhook.",
            examples: "events retry 1795284000184-0", "events retry --all")

        @OptionGroup var gateway: GatewayOptions
        @OptionGroup var choice: Choice

        func check() throws { try choice.check() }

        var request: GatewayRequest { choice.request("/api/webhook/retry") }
        func lines(_ result: RetriedEventsAnswer) -> [String] {
            ["\(Terminal.grouped(result.retried)) events wait for the webhook again"]
        }
    }

    struct Discard: GatewayCommand, CheckedCommand {
        static let configuration = CommandConfiguration(
            "Delete dead events. It asks first on a terminal.", examples: "events discard 1795284000184-0",
            "events discard --all --yes")

        @OptionGroup var gateway: GatewayOptions
        @OptionGroup var choice: Choice
        @OptionGroup var asking: Asking

        func check() throws { try choice.check() }

        func run() async throws {
            try await asking.confirm(question, kept: "nothing was deleted")
            try await gateway.call(request, lines: lines)
        }

        private func question() async throws -> String {
            let count = try await gateway.client().count(.get("/api/webhook")) { (webhook: WebhookAnswer) in
                webhook.dead
            }
            let what = choice.all ? count.map { Terminal.counted($0, "dead event") } ?? "all dead events" : "the event"
            return "Delete \(what)? The webhook never gets it then."
        }

        var request: GatewayRequest { choice.request("/api/webhook/discard") }
        func lines(_ result: DiscardedEventsAnswer) -> [String] {
            ["\(Terminal.grouped(result.discarded)) events are deleted"]
        }
    }

    /// One dead event, or all. The user must say which.
    struct Choice: ParsableArguments {
        @Argument(help: "Entry of the dead event, as 'events dead' shows it.") var entry: String?
        @Flag(help: "All dead events of the app.") var all = false

        func check() throws {
            guard (entry != nil) != all else { throw ValidationError("give an entry, or --all") }
        }

        func request(_ path: GatewayPath) -> GatewayRequest {
            .post(path, .fields(["entry": entry.map(JSON.string)])).within(.seconds(600))
        }
    }
}

extension DeadEventAnswer {
    /// The event as the API's answer type. Nil: a later version wrote it.
    fileprivate var told: OutgoingEventAnswer? { try? OutgoingEventAnswer(answer: event.bytes) }
}

extension EventsPart {
    static let webhooks = EventsPart(
        does: ", try the webhook, and see what it did not take", goal: "to the app's webhook (webhook.url), and ",
        examples: ["events test", "events dead", "events retry --all"],
        subcommands: [
            WebhookCommands.Test.self, WebhookCommands.Dead.self, WebhookCommands.Retry.self,
            WebhookCommands.Discard.self,
        ])
}
