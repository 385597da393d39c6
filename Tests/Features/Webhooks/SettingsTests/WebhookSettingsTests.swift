import Answers
import Foundation
import LiveActivity
import Store
import Testing

@testable import Settings

/// The settings of outgoing events.
@Suite struct WebhookSettingsTests {
    private func app(_ webhook: String) -> String { "apps:\n  - key: shop\n    webhook: {\(webhook)}\n" }

    @Test func `with nothing said, no app has outgoing events`() throws {
        let settings = try load(file: oneApp)
        #expect(settings.eventsKept == 0 && settings.apps[0].webhookEvents.isEmpty)
        #expect(settings.eventPolicies.values.allSatisfy { !$0.isOn })
        #expect(settings.webhook.timeout == .seconds(10))
        #expect(settings.webhook.giveUpAfter == .seconds(86_400))
    }

    @Test func `a stream is for every app, a webhook for its own`() throws {
        let file =
            "events: {keep: 5000}\nwebhook: {timeout: 2s, give_up_after: 1h}\napps:\n  - key: a\n  - key: b\n"
            + "    webhook: {url: 'https://hooks.example.com/x', secret: hook-secret, events: 'failed, alarm_raised'}\n"
        let settings = try load(file: file)
        #expect(settings.eventPolicies[try AppKey("a")] == EventPolicy(keep: 5_000))
        #expect(
            settings.eventPolicies[try AppKey("b")] == EventPolicy(keep: 5_000, queued: [.failed, .alarmRaised]))
        #expect(settings.webhook.timeout == .seconds(2) && settings.webhook.giveUpAfter == .seconds(3_600))
    }

    @Test func `a webhook gets all events but superseded unless it says which`() throws {
        let settings = try load(file: app("url: 'https://h/x', secret: hook-secret"))
        let all: Set<OutgoingEvent.Kind> = [
            .done, .failed, .cancelled, .expired, .pruned, .alarmRaised, .alarmCleared,
        ]
        #expect(settings.apps[0].webhookEvents == all)
    }

    @Test func `one app comes from the environment, and its file of the secret lies where it says`() throws {
        var environment = AppSettingsTests.environment
        environment["LAMPLIGHTER_APP_WEBHOOK_URL"] = "https://hooks.example.com/x"
        environment["LAMPLIGHTER_APP_WEBHOOK_SECRET_FILE"] = "/run/secrets/hook"
        environment["LAMPLIGHTER_APP_WEBHOOK_ALLOW_PRIVATE"] = "true"
        let app = try load(environment: environment).apps[0]
        #expect(app[.webhookSecretFile] == "/run/secrets/hook" && app[.webhookAllowsPrivate] == "true")
        let file = try load(file: self.app("url: 'https://h/x', secret_file: hook.secret, ca_file: ca.pem")).apps[0]
        #expect(file[.webhookSecretFile] == "config/hook.secret" && file[.webhookCAFile] == "config/ca.pem")
    }

    @Test func `neither the address nor the secret is shown`() throws {
        let app = try load(file: app("url: 'https://h/very-secret', secret: hook-secret")).apps[0]
        #expect(!"\(app)".contains("very-secret") && !"\(app)".contains("hook-secret"))
        let wrong = refusal(file: self.app("url: 'ftp://h/very-secret', secret: hook-secret"))
        #expect(wrong.contains("webhook.url") && wrong.contains("https://host") && !wrong.contains("very-secret"))
    }

    @Test(arguments: [
        ("url: 'https://h/x'", "webhook.secret is not set"), ("secret: hook-secret", "webhook.url is not set"),
        ("events: done", "webhook.events needs it"),
        ("url: 'https://h/x', secret: hook-secret, secret_file: f", "leave one of them"),
        ("url: 'http://h/x', secret: hook-secret", "allow_http allows it"),
        ("url: 'https://user:pass@h/x', secret: hook-secret", "without user, password"),
        ("url: 'https://', secret: hook-secret", "webhook.url"),
        ("url: 'https:///x', secret: hook-secret", "webhook.url"),
        ("url: 'https://h/a b', secret: hook-secret", "webhook.url"),
        ("url: 'https://h/x', secret: short", "8 to 256 characters"),
        ("url: 'https://h/x', secret: hook-secret, events: 'done,finished'", "of done, failed, cancelled"),
        ("url: 'https://h/x', secret: hook-secret, events: test", "of done, failed, cancelled"),
        ("url: 'https://h/x', secret: hook-secret, allow_private: yes", "true or false"),
    ])
    func `what cannot be meant is refused, with the remedy`(webhook: String, text: String) {
        let problem = refusal(file: app(webhook))
        #expect(problem.contains(text), "\(problem)")
    }

    @Test func `an address without TLS can be allowed`() throws {
        let settings = try load(file: app("url: 'http://10.0.0.5/x', secret: hook-secret, allow_http: true"))
        #expect(settings.apps[0][.webhookURL] == "http://10.0.0.5/x")
    }

    @Test func `a webhook with other events waits for the restart as a whole`() throws {
        func file(_ webhook: String) -> String { oneApp + "    webhook: {\(webhook)}\n" }
        let old = try load(file: file("url: 'https://a.example.com/', secret: the-secret-01, events: done"))
        let new = try load(file: file("url: 'https://b.example.com/', secret: the-secret-01, events: failed"))
        for process in [SettingsChange.Process.gateway, .worker] {
            let next = try #require(new.reloaded(over: old, in: process).apps.first)
            #expect(next[.webhookURL] == "https://a.example.com/" && next[.webhookEvents] == "done")
        }
    }

    @Test func `the address and the secret may be in variables with white space, the address in a file`() throws {
        let path = NSTemporaryDirectory() + "webhook-\(UUID().uuidString)"
        try "https://hooks.example.com/T0/B0\n".write(toFile: path, atomically: false, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: path) }
        for (name, value) in [("", " https://hooks.example.com/T0/B0\r\n"), ("_FILE", path)] {
            let app = try load(environment: [
                "LAMPLIGHTER_APP_KEY": "shop", "LAMPLIGHTER_APP_WEBHOOK_URL\(name)": value,
                "LAMPLIGHTER_APP_WEBHOOK_SECRET": " whsec-0123456789\n",
            ]).app(named: nil)
            #expect(app[.webhookURL] == "https://hooks.example.com/T0/B0" && app[.webhookSecret] == "whsec-0123456789")
        }
    }

    @Test func `a gateway shows no setting of the webhook, and a short secret is told`() throws {
        let settings = try load(file: app("url: 'https://h/very-secret', secret: hook-secret"))
        let shown = settings.shown(for: try AppKey("shop"))
        #expect(!shown.contains { $0.name.hasPrefix("webhook.") || $0.value?.contains("very-secret") == true })
        #expect(settings.apps[0].shortSecrets == [.webhookSecret])
    }
}
