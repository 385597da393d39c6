import ArgumentParser
import Curl
import Foundation

/// `lamplighter publish`: sends one update to all devices that follow a name.
struct PublishCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish",
        abstract: "Publish one update to everyone who follows a name.",
        discussion: """
            Examples:
              lamplighter publish order-1234 --content-state '{"status":"baking"}'
              lamplighter publish match-42 --content-state @score.json --priority 5 --wait
              lamplighter publish match-42 --content-state - --audience tag:vip --stale-date +15m < score.json
              lamplighter publish order-1234 --event end --dismissal-date +10m
              lamplighter publish match-42 --event end --at 2026-11-21T18:00+01:00
              lamplighter publish match-42 --event end --at +2h --replace 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10
              lamplighter publish order-1234 --event start --attributes-type DeliveryAttributes \\
                --attributes '{"restaurant":"Da Mario"}' --content-state '{"status":"baking"}' \\
                --alert-title 'Your order' --alert-body 'is in the oven' --audience user:user-7
              lamplighter publish match-42 --event start --attributes-type MatchAttributes --attributes @match.json \\
                --content-state '{"home":0,"away":0}' --alert-title 'Kick-off' --audience tag:team/reds --wait
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var gateway: GatewayOptions

    @Argument(help: "Name of the activity, such as order-1234.")
    var name: String

    @Option(name: .long, help: ArgumentHelp("The new state: JSON, @file, or - for stdin.", valueName: "json"))
    var contentState: String?

    @Option(name: .long, help: ArgumentHelp("start, update or end.", valueName: "event"))
    var event = "update"

    @Option(name: .long, help: ArgumentHelp("10 at once, 5 when convenient for the device.", valueName: "number"))
    var priority: Int?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Who, among the followers (of a start: among those with a start token): all, tag:T, tag:GROUP/T, channel:ID, user:NAME, or a selector as JSON.",
            valueName: "audience"))
    var audience = "all"

    @Option(name: .long, help: ArgumentHelp("Title of an alert.", valueName: "text"))
    var alertTitle: String?
    @Option(name: .long, help: ArgumentHelp("Body of an alert.", valueName: "text"))
    var alertBody: String?
    @Option(name: .long, help: ArgumentHelp("Sound of an alert.", valueName: "name"))
    var alertSound: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "A whole alert: JSON, @file, or -. Its title and body may be {\"loc-key\",\"loc-args\"}.", valueName: "json"
        ))
    var alert: String?

    @Option(
        name: .long, help: ArgumentHelp("When the state is out of date: epoch seconds, or +15m.", valueName: "time"))
    var staleDate: String?
    @Option(
        name: .long,
        help: ArgumentHelp("When an ended activity leaves the screen: now, +10m, epoch seconds.", valueName: "time"))
    var dismissalDate: String?
    @Option(name: .long, help: ArgumentHelp("Which activity is shown first: the higher.", valueName: "number"))
    var relevanceScore: String?
    @Option(name: .long, help: ArgumentHelp("How long it may be tried: epoch seconds, or +10m.", valueName: "time"))
    var expiry: String?
    @Flag(name: .long, help: "Keep priority 10, though the name's budget of the hour is used up.")
    var insist = false
    @Option(
        name: .long,
        help: ArgumentHelp("Time of the state, epoch seconds; default: when it is accepted.", valueName: "time"))
    var timestamp: String?

    @Option(name: .long, help: ArgumentHelp("For start: the type of the attributes.", valueName: "type"))
    var attributesType: String?
    @Option(name: .long, help: ArgumentHelp("For start: the attributes: JSON, @file, or -.", valueName: "json"))
    var attributes: String?

    @Flag(name: .long, help: "For start: also to channels that follow the name already.")
    var restart = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Publish then and not now: 2026-11-21T18:00 (here), 2026-11-21T18:00+01:00, epoch seconds, or +10m."
                + " Other relative times count from it.", valueName: "time"))
    var at: String?
    @Option(
        name: .long,
        help: ArgumentHelp("With --at: put this in the place of a schedule that still waits.", valueName: "id"))
    var replace: String?
    @Option(name: .long, help: ArgumentHelp("Repeating a publish with the same key sends it once.", valueName: "key"))
    var idempotencyKey: String?
    @Flag(name: .long, help: "Wait until every token has an outcome, then print the ledger.")
    var wait = false

    func validate() throws {
        guard ["start", "update", "end"].contains(event) else {
            throw ValidationError("--event must be start, update or end")
        }
        if contentState == nil, event != "end" { throw ValidationError("--content-state is needed for \(event)") }
        if event == "start" {
            guard attributesType != nil, attributes != nil else {
                throw ValidationError("--attributes-type and --attributes are needed for start")
            }
            guard alert != nil || alertTitle != nil else { throw ValidationError("--alert-title is needed for start") }
        } else if restart {
            throw ValidationError("--restart belongs to --event start")
        }
        if alert != nil, alertTitle != nil || alertBody != nil || alertSound != nil {
            throw ValidationError("--alert is the whole alert: leave out --alert-title, --alert-body and --alert-sound")
        }
        if alertTitle == nil, alertBody != nil || alertSound != nil {
            throw ValidationError("--alert-title is needed: devices ignore an alert without a title")
        }
        if replace != nil, at == nil { throw ValidationError("--replace needs --at: the schedule's time") }
        if replace != nil, idempotencyKey != nil {
            throw ValidationError("--idempotency-key is not needed: a --replace may be repeated")
        }
        if [contentState, attributes, alert].count(where: { $0 == "-" }) > 1 {
            throw ValidationError("only one option can read stdin")
        }
    }

    func run() async throws {
        let client = try gateway.client(global)
        let now = Int(Date().timeIntervalSince1970)
        if let at { return try await schedule(at, now: now, client) }
        let body = try PublishRequest(self).json(now: now)
        let expected =
            wait && audience == "all" && event != "start" && Terminal.standardErrorIsTerminal
            ? await followers(client) : nil
        let headers = idempotencyKey.map { [("Idempotency-Key", $0)] } ?? []
        let answer = try await client.send("POST", "/api/push", headers: headers, body: .bytes(Array(body.utf8)))
        let accepted = try GatewayClient.decode(Accepted.self, answer)
        guard let pushID = accepted.push_ids.first else {
            throw CommandFailure(.failed, "the gateway accepted the push and named no id")
        }
        warn(accepted.warnings)
        if wait {
            return try await PushWatch(client: client, pushID: pushID, expected: expected).report(json: global.json)
        }
        if global.json { return Terminal.print(json: answer) }
        Terminal.print(pushID)
    }

    private func schedule(_ text: String, now: Int, _ client: GatewayClient) async throws {
        let time: ScheduleTime
        do { time = try ScheduleTime.parse(text, now: now) } catch { throw ValidationError("--at \(error)") }
        let body = CommandJSON.object([
            ("schedule", CommandJSON.object([("scheduled_time", CommandJSON.quoted(time.text))])),
            ("push", try PublishRequest(self).json(now: time.seconds)),
        ])
        let headers = idempotencyKey.map { [("Idempotency-Key", $0)] } ?? []
        let place = replace.map { "/" + GatewayClient.segment($0) } ?? ""
        let answer = try await client.send(
            replace == nil ? "POST" : "PUT", "/api/schedules" + place, headers: headers,
            body: .bytes(Array(body.utf8)))
        let scheduled = try GatewayClient.decode(Scheduled.self, answer)
        guard let id = scheduled.schedule_ids.first else {
            throw CommandFailure(.failed, "the gateway accepted the schedule and named no id")
        }
        warn(scheduled.warnings)
        if wait { return try await PushWatch(client: client, pushID: id).report(json: global.json) }
        if global.json { return Terminal.print(json: answer) }
        Terminal.print(id)
        if Terminal.standardErrorIsTerminal { Terminal.error("scheduled for \(time.text)") }
    }

    /// Prints warnings to stderr. With `--json` the printed response holds them already, except when
    /// a ledger is printed.
    private func warn(_ warnings: [String]?) {
        guard wait || !global.json else { return }
        for warning in warnings ?? [] { Terminal.error("warning: \(warning)") }
    }

    /// How many tokens follow the name, for the progress bar only. Nil if the gateway does not answer.
    private func followers(_ client: GatewayClient) async -> Int? {
        struct Activity: Decodable { var tokens: Int }
        let answer = try? await client.send("GET", "/api/activities/\(GatewayClient.segment(name))")
        return answer.flatMap { try? GatewayClient.decode(Activity.self, $0).tokens }
    }

    private struct Accepted: Decodable {
        var push_ids: [String]
        var warnings: [String]?
    }

    private struct Scheduled: Decodable {
        var schedule_ids: [String]
        var warnings: [String]?
    }
}
