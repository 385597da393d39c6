import Answers
import ArgumentParser
import LiveActivity
import Redis
import Settings
import Store
import StrictJSON

struct EventsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        name: "events", "Follow the outgoing events, try the webhook, and see what it did not take.",
        details: """
            An outgoing event tells that a push is final, that tokens were pruned, or that an alarm was raised or \
            cleared. Events go to the app's webhook (webhook.url), and into a stream of Redis if events.keep is set, \
            which 'lamplighter events' follows.
            """,
        examples: "events test", "events dead", "events retry --all", "events", "events --all --no-follow --json",
        subcommands: [Follow.self, Test.self, Dead.self, Retry.self, Discard.self], defaultSubcommand: Follow.self)

    struct Follow: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "Print the outgoing events of an app as they come.",
            details: "This command reads Redis itself, so it works without a gateway. It needs events.keep, which is 0 "
                + "unless it is set. It ends with Ctrl-C.",
            examples: "events follow", "events follow --all --no-follow --json")

        @OptionGroup var global: GlobalOptions
        @OptionGroup var redis: RedisFlags
        @Option(help: .value("key", "Key of the app. It is needed if several apps are configured.")) var app: String?
        @Flag(help: "Begin with the events that the stream still keeps.") var all = false
        @Flag(inversion: .prefixedNo, help: "Wait for further events.") var follow = true

        func run() async throws {
            let settings = try global.settings(redis.given)
            let app = try settings.app(named: app).key
            guard settings.eventsKept > 0 else {
                throw CommandFailure(
                    .configuration, "the stream of events is off: set events.keep, for gateways and workers too")
            }
            let store = try await RedisInspection.store(settings, logger: global.quietLogger("events", settings))
            try await store.checkFormat()
            let reader = store.eventReader()
            var position = all ? "0-0" : try await reader.end(app)
            while Terminal.isRead {
                let events: [StoredEvent]
                do throws(StoreError) {
                    events = try await reader.events(app, after: position, limit: 100, waits: follow)
                } catch {
                    // Redis may be away for a moment, and the position stays.
                    guard follow, error.isPassing else { throw error }
                    try await Task.sleep(for: .seconds(1))
                    continue
                }
                for event in events { Terminal.print(global.json ? event.text : event.line) }
                position = events.last?.entry ?? position
                if !follow, events.isEmpty { break }
            }
            reader.close()
            await store.redis.close()
        }
    }

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

extension StoredEvent {
    /// For a person: the time, the type, and what it is about.
    fileprivate var line: String {
        guard let event = try? OutgoingEventAnswer(answer: Array(text.utf8)) else { return "\(entry)  \(kind)" }
        var words = [event.at, kind]
        if let push = event.push {
            let counts = [("targets", push.targets)] + SettledField.allCases.map { ($0.rawValue, push.outcomes[$0]) }
            let shown = counts.filter { $0.1 > 0 }.map { "\($0.0) \($0.1)" }
            words += [push.name, push.pushID, shown.joined(separator: ", ")]
        }
        if let alarm = event.alarm { words += [alarm.kind, alarm.reason] }
        return words.filter { !$0.isEmpty }.joined(separator: "  ")
    }
}
