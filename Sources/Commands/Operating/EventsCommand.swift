import Answers
import ArgumentParser
import LiveActivity
import Redis
import Settings
import Store
import StrictJSON

struct EventsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        name: "events", "Follow the outgoing events\(EventsPart.ofFeatures.map(\.does).joined()).",
        details: """
            An outgoing event tells that a push is final, that tokens were pruned, or that an alarm was raised or \
            cleared. Events go \(EventsPart.ofFeatures.map(\.goal).joined())into a stream of Redis if events.keep is \
            set, which 'lamplighter events' follows.
            """,
        featureExamples: EventsPart.ofFeatures.flatMap(\.examples),
        examples: "events", "events --all --no-follow --json",
        subcommands: [Follow.self] + EventsPart.ofFeatures.flatMap(\.subcommands), defaultSubcommand: Follow.self)

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
}

/// The part of a feature in `events`: another place to which events go.
struct EventsPart: Sendable {
    /// The end of the sentence about the commands, behind a comma.
    let does: String
    /// The place to which events go, and "and".
    let goal: String
    let examples: [String]
    let subcommands: [any ParsableCommand.Type]
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
