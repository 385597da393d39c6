import LiveActivity
import Settings
import Store
import StrictJSON
import Webhooks

/// Posts one test event to an app's webhook.
struct WebhookTest {
    let settings: Settings
    /// The app whose webhook is tried. Nil: the only app.
    let app: String?

    func run(json: Bool) async throws {
        let app = try settings.app(named: app)
        guard let webhook = try Webhook(app, settings) else {
            throw CommandFailure(.configuration, "app '\(app.key)' has no webhook: set webhook.url and webhook.secret")
        }
        let event = OutgoingEvent.test(app.key, at: wallClock())
        let began = ContinuousClock.now
        let answer = await webhook.post([event.text], of: app.key, now: wallClock())
        let took = Int(began.duration(to: .now) / .milliseconds(1))
        if json {
            let report: JSON = [
                "accepted": .bool(answer.verdict == .accepted), "event": .raw(Array(event.text.utf8)),
                "host": .string(webhook.host), "status": answer.status.map { .integer($0) } ?? JSON.null,
                "milliseconds": .integer(took), "answer": .string(answer.text),
            ]
            Terminal.print(report.text)
        } else {
            let what = answer.status == nil ? "no answer" : answer.reason
            Terminal.print("\(webhook.host): \(what) after \(took) ms")
            if !answer.text.isEmpty { Terminal.print("  \(answer.text)") }
        }
        if answer.verdict != .accepted { throw CommandFailure(.failed, json ? "" : "the webhook did not accept it") }
    }
}
