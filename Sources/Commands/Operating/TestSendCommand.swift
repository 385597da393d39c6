import APNsClient
import APNsWire
import ArgumentParser
import Delivery
import FoundationEssentials
import HTTPAPI
import Lanes
import LiveActivity
import Settings
import StrictJSON

struct TestSendCommand: CheckedCommand {
    static let configuration = CommandConfiguration(
        name: "test-send", "Send one push to one token, past queue and ledger, and show the whole exchange with APNs.",
        details: """
            It knows APNs alone. To try an Android device, use 'publish --audience channel:ID --trace ID'. \
            The command reads the app's APNs key as 'work' does. It needs neither a gateway nor Redis, and stores \
            nothing. Neither the token nor the provider token is shown whole. Do not run it in a loop: like 'doctor' \
            it makes a new provider token, which Apple limits. Exit codes: 0 APNs answered 200, 1 another status, 69 \
            no answer.
            """,
        examples: "test-send 80f3…hex… --content-state '{\"status\":\"baking\"}'",
        "test-send 80f3…hex… --file publish.json --sandbox", "test-send - --event end --yes --json <token.txt")

    @OptionGroup var global: GlobalOptions
    @Option(\.apns.transport) var transport: SettingFlag?
    @Option(help: .value("key", "Key of the app to send for. It is needed if several apps are configured."))
    var app: String?
    @Argument(help: "The push token, in hex. A dash reads it from stdin, so that no list of processes shows it.")
    var token: String
    @Option(help: .value("file", "The body of a publish, as POST /api/push takes it. Its audience is not looked at."))
    var file: String?
    @Option(help: .value("event", "update or end, without a file.")) var event = "update"
    @Option(help: .value("json", "The content state, without a file: JSON or @file.")) var contentState: String?
    @Option(help: .value("number", "10 or 5, without a file.")) var priority: Int?
    @Flag(help: "Send to the sandbox of an app whose apns.environment is both.") var sandbox = false
    @OptionGroup var asking: Asking

    func check() throws {
        guard ["update", "end"].contains(event) else {
            throw ValidationError("--event must be update or end; a start needs --file")
        }
        guard [nil, 5, 10].contains(priority) else { throw ValidationError("--priority must be 5 or 10") }
        if file != nil {
            guard contentState == nil, priority == nil, event == "update" else {
                throw ValidationError("--file is the whole publish: leave out --event, --content-state and --priority")
            }
        } else if contentState == nil, event == "update" {
            throw ValidationError("--content-state or --file is needed")
        }
        if contentState == "-" || file == "-" {
            throw ValidationError("only the token can come from stdin: write the JSON into a file")
        }
    }

    func run() async throws {
        let settings = try global.settings([transport])
        let app = try settings.app(named: app)
        var configuration = try WorkCommand.configuration(app, settings)
        configuration.lanes = 1
        if sandbox {
            guard let origin = app.otherOrigin else { throw ValidationError("--sandbox needs apns.environment: both") }
            configuration.origin = origin
        }
        let token = try pushToken()
        let rendered = try publish()
        for warning in rendered.warnings { Terminal.error("warning: \(warning)") }
        let publish = rendered.publish
        var push = PreparedPush(
            bundleID: try app.required(.bundleID), priority: publish.priority, expiration: publish.options.expiry,
            collapseID: publish.event == .start ? CollapseID.start(publish.name) : nil, payload: rendered.payload)
        let trace = ExchangeRecorder()
        push.trace = trace
        try await confirm(
            "Send this \(publish.event.rawValue) to \(token) of app \(app.key) at \(configuration.origin)?")
        let lanes = try LaneTransport(
            settings.apns.transport, configuration: configuration, logger: global.quietLogger("test-send", settings))
        var page = TokenPage()
        page.append(channel: CollectionOfOne(0), token: token.bytes, registeredAt: 0)
        let outcome = await lanes.send(page, push)
        await lanes.close()
        Terminal.note(change: "the push was sent")
        try report(trace.exchanges, outcome.exceptions.first?.outcome ?? .accepted, configuration.origin)
    }

    private func pushToken() throws -> PushToken {
        // A line of stdin may end with spaces or a carriage return.
        let text = token == "-" ? (readLine() ?? "").trimmed : token
        do throws(IdentifierError) {
            return try PushToken(hex: text)
        } catch {
            throw ValidationError("the token must be \(error.rule)")
        }
    }

    private func publish() throws -> RenderedPublish {
        let body: String
        if let file {
            body = try InputText.read("@" + file, "--file")
        } else {
            // APNs does not see the name.
            let activity = JSON.fields([
                "name": "test-send", "event": .string(event),
                "content_state": try PublishRequest.object(contentState, "--content-state"),
                "priority": priority.map(JSON.integer),
            ])
            let push: JSON = [
                "audience": "all", "device_types": ["ios"], "notification": ["ios": ["live_activity": activity]],
            ]
            body = push.text
        }
        do throws(JSONError) {
            return try RenderedPublish(Array(body.utf8), now: wallClock())
        } catch {
            // Without a file the error's place would be in a body that nobody wrote.
            throw ValidationError(file.map { "\($0): \(error)" } ?? "--content-state \(error.message)")
        }
    }

    /// A script has to say --yes too, because the push goes to a real phone past everything that guards a publish.
    private func confirm(_ question: String) async throws {
        guard asking.yes || Terminal.isForPerson else {
            throw ValidationError("--yes is needed, because nobody can be asked here. \(question)")
        }
        try await asking.confirm({ question }, kept: "nothing was sent")
    }

    private func report(_ exchanges: [Exchange], _ outcome: PushOutcome, _ origin: String) throws {
        let objects = exchanges.map { $0.json() }
        if global.json {
            let body: JSON = [
                "ok": .bool(outcome == .accepted), "exchanges": .array(objects.map { .raw($0) }),
            ]
            Terminal.print(body.text)
        } else {
            for (position, object) in objects.enumerated() {
                if position > 0 { Terminal.print("") }
                try ExchangeText.lines(JSONDocument(object).root.object()).forEach(Terminal.print)
            }
        }
        switch outcome {
        case .accepted: return
        case .rejected(let rejection):
            let isOfCredentials = rejection.status == 403
            throw CommandFailure(.failed, isOfCredentials ? "'lamplighter doctor' checks the app's credentials." : "")
        case .unanswered(let none):
            let remedy = "'lamplighter doctor' checks the way there."
            throw CommandFailure(.unreachable, "\(origin) gave no answer: \(none.cause.rawValue). \(remedy)")
        }
    }
}
