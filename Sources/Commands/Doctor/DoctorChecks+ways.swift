import HTTPAPI
import Settings
import Spans
import Webhooks

/// The ways to and from this machine beside Redis and APNs. Pushes need none of them, so problems are warnings.
extension DoctorChecks {
    /// Whether other machines reach the gateway without TLS.
    func openGateway() -> [Finding] {
        let place = StartWarning.Surroundings(
            host: settings.gateway.host, hasTLS: settings.gatewayTLS.certificate != nil,
            hasTrustedProxy: !settings.gateway.trustedProxies.isEmpty)
        let warning = StartWarning.withoutTLS
        guard StartWarning.all(place).contains(warning) else { return [] }
        return [.warning("gateway TLS", "\(warning.problem) (\(settings.gateway.host))", warning.remedy)]
    }

    /// Asks the webhook's server without an event. `lamplighter events test` posts one.
    func webhook(_ app: AppSettings) async -> [Finding] {
        guard let webhook = try? Webhook(app, settings) else { return [] }
        let subject = "webhook \(app.key)"
        guard let problem = await webhook.problem() else { return [.good(subject, "\(webhook.host) answers")] }
        let remedy =
            problem.isPrivateAddress
            ? "\(AppField.webhookAllowsPrivate.path): true, if the receiver is in a network of yours"
            : "check \(AppField.webhookURL.path), and that the firewall lets its port out; events wait meanwhile"
        return [.warning(subject, "\(webhook.host): \(problem.reason)", remedy)]
    }

    /// Sends no spans to the collector.
    func collector() async -> [Finding] {
        guard let options = settings.traces else { return [] }
        guard let problem = await SpanExporter.problem(options) else {
            return [.good("traces", "\(options.endpoint) takes spans")]
        }
        return [
            .warning(
                "traces", "\(options.endpoint): \(problem)",
                "check traces.endpoint and traces.headers; spans are dropped meanwhile")
        ]
    }
}
