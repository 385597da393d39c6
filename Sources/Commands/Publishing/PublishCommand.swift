import Answers
import ArgumentParser
import FoundationEssentials
import LiveActivity
import StrictJSON

struct PublishCommand: CheckedCommand {
    static let configuration = CommandConfiguration(
        name: "publish", "Publish one update to every device that follows a name.",
        details: "An end cannot be taken back, so it asks first on a terminal. \(ExitStatus.ofWait)",
        examples: #"publish order-1234 --content-state '{"status":"baking"}'"#,
        "publish match-42 --content-state @score.json --priority 5 --wait",
        "publish match-42 --content-state - --audience tag:vip --stale-date +15m < score.json",
        "publish order-1234 --event end --dismissal-date +10m --yes",
        "publish match-42 --content-state @score.json --platforms ios,android",
        "publish match-42 --content-state @score.json --audience tag:vip --dry-run",
        "publish match-42 --content-state @score.json --trace 3f0c8a51-8a3e-4b9b-9a66-0c8a3f0c8a51",
        "publish match-42 --content-state @score.json --after 019a1b6e-b16a-7c58-b78d-181d5e242078",
        "publish match-42 --event end --at 2026-11-21T18:00+01:00",
        "publish match-42 --content-state @kick-off.json --at 'tomorrow 20:00'",
        "publish match-42 --event end --at +2h --replace 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10",
        """
        publish order-1234 --event start --attributes-type DeliveryAttributes \
        --attributes '{"restaurant":"Da Mario"}' --content-state '{"status":"baking"}' \
        --alert-title 'Your order' --alert-body 'is in the oven' --audience user:user-7
        """,
        """
        publish match-42 --event start --attributes-type MatchAttributes --attributes @match.json \
        --content-state '{"home":0,"away":0}' --alert-title 'Kick-off' --audience tag:team/reds --wait
        """)

    @OptionGroup var gateway: GatewayOptions
    @Argument(help: "Name of the activity, such as order-1234.", completion: .names) var name: String
    @Option(help: .value("json", "The new content state: JSON, @file, or - for stdin.")) var contentState: String?
    @Option(help: .value("event", "start, update or end.")) var event = "update"
    @Option(help: .value("number", "10 delivers at once, 5 when it suits the device.")) var priority: Int?
    @Option(
        help: .value(
            "audience",
            "The followers to send to (for start: the channels with a start token): all, tag:T, tag:GROUP/T, "
                + "channel:ID, user:NAME, or a selector as JSON."))
    var audience = "all"
    @Option(help: .value("text", "Title of an alert.")) var alertTitle: String?
    @Option(help: .value("text", "Body of an alert.")) var alertBody: String?
    @Option(help: .value("name", "Sound of an alert.")) var alertSound: String?
    @Option(
        help: .value(
            "json", "A whole alert: JSON, @file, or -. Its title and body may be {\"loc-key\",\"loc-args\"}."))
    var alert: String?
    @Option(help: .value("time", "When the state is out of date: epoch seconds, or +15m.")) var staleDate: String?
    @Option(help: .value("time", "When an ended activity leaves the screen: now, +10m, or epoch seconds."))
    var dismissalDate: String?
    @Option(help: .value("number", "Order of activities on a device. The highest is shown first."))
    var relevanceScore: String?
    @Option(help: .value("time", "Until when delivery is tried: epoch seconds, or +10m.")) var expiry: String?
    @Flag(help: "Keep priority 10, although the name's budget of the hour is used up.") var insist = false
    @Option(help: .value("time", "Time of the state in epoch seconds. The default is the time of acceptance."))
    var timestamp: String?
    @Option(help: .value("platforms", "Whose devices get it: ios, android, or ios,android."))
    var platforms = PlatformList([.ios])
    @Option(help: .value("type", "For a start on Android: the app's handler. The default is the attributes type."))
    var type: String?
    @Option(help: .value("type", "For start: the attributes type.")) var attributesType: String?
    @Option(help: .value("json", "For start: the attributes: JSON, @file, or -.")) var attributes: String?
    @Flag(help: "For start: also send to channels that follow the name already.") var restart = false
    @Flag(
        inversion: .prefixedNo,
        help: "For start: leave out devices whose user dismissed the name's card. Default: the app's setting.")
    var respectDismissal: Bool?
    @Option(
        help: .value(
            "time",
            "Publish at this time: 2026-11-21T18:00 (here), 2026-11-21T18:00+01:00, 'tomorrow 18:00', epoch seconds, "
                + "or +10m. "
                + "Other relative times count from it."))
    var at: String?
    @Option(help: .value("id", "With --at: replace this schedule, if it still waits.")) var replace: String?
    @Option(help: .after, transform: AfterPush.argument) var after: AfterPush?
    @Option(help: .value("key", "A publish that is repeated with the same key is sent once."))
    var idempotencyKey: String?
    @Flag(help: "Wait until every token has an outcome, then print the ledger.") var wait = false
    @Option(help: .failBelow) var failBelow: Percent?
    @Option(
        help: .value(
            "channel", "Wait for this channel's outcome, and print the whole exchange with APNs or FCM for it."))
    var trace: String?
    @Flag(help: "Publish nothing. Print whom it would reach, the warnings, and the payload of each platform.")
    var dryRun = false
    @OptionGroup var asking: Asking

    func check() throws {
        guard ["start", "update", "end"].contains(event) else {
            throw ValidationError("--event must be start, update or end")
        }
        if contentState == nil, event != "end" { throw ValidationError("--content-state is needed for \(event)") }
        if event == "start", platforms.all.contains(.ios) {
            guard attributesType != nil, attributes != nil else {
                throw ValidationError("--attributes-type and --attributes are needed for start")
            }
            guard alert != nil || alertTitle != nil else { throw ValidationError("--alert-title is needed for start") }
        } else if event == "start", type == nil, attributesType == nil {
            throw ValidationError("--type is needed for start")
        }
        if event != "start", restart { throw ValidationError("--restart needs --event start") }
        if event != "start", respectDismissal != nil {
            throw ValidationError("--respect-dismissal needs --event start")
        }
        if alert != nil, alertTitle != nil || alertBody != nil || alertSound != nil {
            throw ValidationError("--alert is the whole alert: leave out --alert-title, --alert-body and --alert-sound")
        }
        if alertTitle == nil, alertBody != nil || alertSound != nil {
            throw ValidationError("--alert-title is needed: devices ignore an alert without a title")
        }
        if let replace { try checkSchedule(replace) }
        if replace != nil, at == nil { throw ValidationError("--replace needs --at, the schedule's time") }
        if replace != nil, idempotencyKey != nil {
            throw ValidationError("--replace may be repeated without --idempotency-key: leave that out")
        }
        if failBelow != nil, !wait { throw ValidationError("--fail-below needs --wait") }
        if dryRun, wait { throw ValidationError("--wait waits for a push, and --dry-run makes none: leave one out") }
        if trace != nil, wait {
            throw ValidationError("--wait waits for all tokens, and --trace for one: leave one out")
        }
        if trace != nil, dryRun || at != nil {
            throw ValidationError("--trace waits for a push: leave out --dry-run and --at")
        }
        if dryRun, at != nil { throw ValidationError("--dry-run is for a publish now: leave out --at") }
        if [contentState, attributes, alert].count(where: { $0 == "-" }) > 1 {
            throw ValidationError("only one option can read stdin")
        }
    }

    func run() async throws {
        let client = try gateway.client()
        let now = Int(Date().timeIntervalSince1970)
        let time = try at.map { try scheduleTime($0, now: now) }
        let push = try PublishRequest(options: self).json(now: time?.seconds ?? now)
        if dryRun { return try await tryOut(push, client) }
        if event == "end", time == nil {
            try await asking.confirm({ try await question(push, client) }, kept: "nothing was published")
        }
        var request = GatewayRequest.post("/api/push", push)
        if let time {
            let body: JSON = ["schedule": ["scheduled_time": .string(time.text)], "push": push]
            request = replace.map { .put("/api/schedules/\($0)", body) } ?? .post("/api/schedules", body)
        }
        if let idempotencyKey { request.headers = [("Idempotency-Key", idempotencyKey)] }
        let showsProgress =
            wait && time == nil && audience == "all" && event != "start" && Terminal.standardErrorIsTerminal
        let expected = showsProgress ? await followers(client) : nil
        let answer = try await client.send(request)
        let (ids, warned, state, held) = try accepted(answer, isSchedule: time != nil)
        guard let id = ids.first else {
            let what = time == nil ? "push" : "schedule"
            throw CommandFailure(.failed, "the gateway accepted the \(what) but returned no id")
        }
        warn(warned)
        if let held {
            // There is no push to wait for.
            if gateway.json { Terminal.print(json: answer) } else { Terminal.print(id) }
            return Terminal.error("nothing is sent before its \(held.word): lamplighter \(held.word) show \(held.id)")
        }
        if wait {
            return try await PushWatch(
                client: client, pushID: id, expected: expected,
                audience: audience == "all" || event == "start" ? nil : audience
            )
            .report(json: gateway.json, failBelow: failBelow)
        }
        if trace != nil {
            if !gateway.json { Terminal.print("push \(id)\n") }
            return try await TraceWatch(client: client, pushID: id).report(json: gateway.json)
        }
        if gateway.json { return Terminal.print(json: answer) }
        Terminal.print(id)
        if let state, time == nil, ["cancelled", "failed", "expired"].contains(state) {
            throw CommandFailure(.failed, "an earlier call published it, and it is \(state): lamplighter push \(id)")
        } else if let state, time != nil, state != "scheduled" {
            throw CommandFailure(.failed, "it is \(state), and never sent: lamplighter schedule show \(id)")
        } else if let time, Terminal.standardErrorIsTerminal {
            Terminal.error("scheduled for \(time.text)")
        }
    }

    /// Counts the cards of the audience as a dry run does. Nil if another person decides later.
    private func question(_ push: JSON, _ client: GatewayClient) async throws -> String? {
        let request = GatewayRequest.post("/api/push/validate", push).changing(nil)
        let preview = try await client.count(request) { (answer: DryRunAnswer) in answer.pushes.first }?.flatMap(\.self)
        if preview?.held != nil { return nil }
        let part = audience == "all" ? ", and it closes the name" : ""
        return "End the cards of \(name) (\(preview?.reach ?? "not counted"))? It cannot be taken back\(part)."
    }

    private func tryOut(_ push: JSON, _ client: GatewayClient) async throws {
        let answer = try await client.send(.post("/api/push/validate", push).changing(nil))
        let result: DryRunAnswer = try GatewayClient.decode(answer)
        warn(result.warned)
        if gateway.json { return Terminal.print(json: answer) }
        for push in result.pushes { push.print() }
    }

    /// - Returns: `held`: what it waits for, and under which id
    private func accepted(
        _ answer: [UInt8], isSchedule: Bool
    ) throws -> (ids: [String], AnswerWarnings, state: String?, held: (word: String, id: String)?) {
        if isSchedule {
            let made: SchedulesAnswer = try GatewayClient.decode(answer)
            let held = made.held.map { ($0, made.heldID ?? "") }
            return (made.scheduleIDs, made.warned, made.schedules.first?.state, held)
        }
        let accepted: AcceptedAnswer = try GatewayClient.decode(answer)
        return (
            accepted.pushIDs, accepted.warned, accepted.states?.first, accepted.held.map { ($0, accepted.heldID ?? "") }
        )
    }

    private func scheduleTime(_ text: String, now: Int) throws -> ScheduleTime {
        do { return try ScheduleTime.parse(text, now: now) } catch { throw ValidationError("--at \(error)") }
    }

    /// With `--json` the printed response holds the warnings already, unless another one is printed.
    private func warn(_ warned: AnswerWarnings) {
        if wait || trace != nil || !gateway.json { Terminal.warn(warned) }
    }

    /// How many tokens follow the name, for the progress bar only. Nil if the gateway does not answer.
    private func followers(_ client: GatewayClient) async -> Int? {
        guard let answer = try? await client.send(.get("/api/activities/\(name)")) else { return nil }
        return (try? GatewayClient.decode(answer) as ActivityAnswer)?.tokens
    }
}
