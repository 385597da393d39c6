import LiveActivity
import Settings
import Threads
import Webhooks

extension Webhook {
    /// The webhook of an app; nil if it has none. A file with the secret is read here.
    init?(_ app: AppSettings, _ settings: Settings) throws(SettingsError) {
        guard let url = app[.webhookURL] else { return nil }
        self.init(url: url, secret: try Self.secret(app))
        caFile = app[.webhookCAFile]
        allowsPrivateAddresses = app[.webhookAllowsPrivate] == "true"
        timeout = settings.webhook.timeout
        giveUpAfter = settings.webhook.giveUpAfter
    }

    private static func secret(_ app: AppSettings) throws(SettingsError) -> String {
        guard let file = app.file(.webhookSecretFile) else { return try app.required(.webhookSecret) }
        return try file.secret { AppField.webhookSecret.violation($0) }
    }
}

/// The webhooks of a running worker, for the apps that had one at its start. A reload replaces them.
struct LiveWebhooks: Sendable {
    let webhooks: [AppKey: Replaceable<Webhook>]

    init(_ settings: Settings) throws {
        let found = try settings.apps.compactMap { app in
            try Webhook(app, settings).map { (app.key, Replaceable($0)) }
        }
        webhooks = Dictionary(found) { $1 }
    }

    func part(_ tasks: [@Sendable () async -> Void] = []) -> WorkerPart {
        WorkerPart(tasks: tasks) { [webhooks] settings in
            let next = try settings.apps.map { ($0.key, try Webhook($0, settings)) }
            return { for case (let app, let webhook?) in next { webhooks[app]?.replace(with: webhook) } }
        }
    }
}

extension ProcessFeature {
    static let webhooks = ProcessFeature(
        findings: { app, settings in
            var findings = Finding.exposed("webhook \(app.key)", app[.webhookSecretFile])
            do throws(SettingsError) {
                _ = try Webhook(app, settings)
            } catch {
                findings.append(.bad("app \(app.key)", error.description, "correct the file", .configuration))
            }
            return findings
        },
        // Asks the webhook's server without an event. `lamplighter events test` posts one.
        ways: { app, settings in
            guard let webhook = try? Webhook(app, settings) else { return [] }
            let subject = "webhook \(app.key)"
            guard let problem = await webhook.problem() else { return [.good(subject, "\(webhook.host) answers")] }
            let remedy =
                problem.isPrivateAddress
                ? "\(AppField.webhookAllowsPrivate.path): true, if the receiver is in a network of yours"
                : "check \(AppField.webhookURL.path), and that the firewall lets its port out; events wait meanwhile"
            return [.warning(subject, "\(webhook.host): \(problem.reason)", remedy)]
        },
        inWorker: { boot in
            let live = try LiveWebhooks(boot.settings)
            return live.part(
                live.webhooks.map { app, webhook in
                    WebhookSender(store: boot.store, app: app, live: webhook, process: boot.name, logger: boot.logger)
                        .run
                })
        },
        metrics: [WebhookSender.metric: "events for the webhook: delivered, retried, dead"])
}
