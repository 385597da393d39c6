import HTTPAPI
import Settings
import Spans

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
