import FoundationEssentials
import Glibc
import HTTPAPI
import Logging
import OpenSSL
import Redis
import Settings

/// A warning of a process at its start about where it runs. It may be as somebody wants it.
struct StartWarning: Sendable, Hashable {
    var problem: String
    var remedy: String

    static let root = StartWarning(
        problem: "this runs as root, which nothing here needs",
        remedy: "start it as a user of its own, as the package does")
    static let withoutTLS = StartWarning(
        problem: "other machines reach this gateway without TLS",
        remedy: "set gateway.cert_file, or put a proxy with TLS in front and name it in gateway.trusted_proxies")
    static let unnamedProxy = StartWarning(
        problem: "behind a proxy on this machine every client is this machine, so limits by address count nobody",
        remedy: "name the proxy in gateway.trusted_proxies, such as 127.0.0.1, and let it send X-Forwarded-For")
    static let openMonitor = StartWarning(
        problem: "other machines read /readyz and /metrics, with the app keys in them, without a secret",
        remedy: "set monitor.secret, or let monitor.host or worker.host be 127.0.0.1")

    static let unreachablePort = StartWarning(
        problem: "the variable PORT is set, as hosting services do, but only this machine reaches the gateway",
        remedy: "set LAMPLIGHTER_GATEWAY_HOST=0.0.0.0")
    static let uncheckedRedis = StartWarning(
        problem: "redis.verify is none: whoever stands between this machine and Redis reads and changes everything",
        remedy: "set redis.ca_file, or redis.verify to sha256: and the fingerprint of the server's certificate")

    static func unusedProxy(_ variables: [String]) -> StartWarning {
        StartWarning(
            problem: "\(variables.joined(separator: ", ")): set, but a worker uses no proxy",
            remedy: "let it connect to api.push.apple.com:443 directly, or unset the variable")
    }

    /// The variables of a proxy that other programs would use. Their values may hold a password.
    static func proxyVariables(_ environment: [String: String]) -> [String] {
        ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"].filter { !(environment[$0] ?? "").isEmpty }
    }

    /// Where and how a process runs.
    struct Surroundings: Sendable {
        var isRoot = false
        /// The address at which a gateway listens; nil: it is a worker.
        var host: String?
        var hasTLS = false
        var hasTrustedProxy = false
        var hasCommonPort = false
        var trustsAnyRedis = false
        /// Whether the settings have a right by address.
        var judgesAddresses = false
        /// The address of a port of its own for `/readyz` and `/metrics`; nil: there is none.
        var monitor: String?
        var hasMonitorSecret = false
        var proxyVariables: [String] = []
    }

    static func all(_ place: Surroundings) -> [StartWarning] {
        var warnings = place.isRoot ? [root] : []
        if place.trustsAnyRedis { warnings.append(uncheckedRedis) }
        if let host = place.host, place.hasCommonPort, !isOpen(host) { warnings.append(unreachablePort) }
        if let host = place.host, !place.hasTrustedProxy {
            if isOpen(host), !place.hasTLS { warnings.append(withoutTLS) }
            if !isOpen(host), place.judgesAddresses { warnings.append(unnamedProxy) }
        }
        if let monitor = place.monitor, isOpen(monitor), !place.hasMonitorSecret { warnings.append(openMonitor) }
        if place.host == nil, !place.proxyVariables.isEmpty { warnings.append(unusedProxy(place.proxyVariables)) }
        return warnings
    }

    /// Whether other machines reach a port at this address.
    private static func isOpen(_ host: String) -> Bool {
        !host.hasPrefix("127.") && host != "::1" && host != "localhost"
    }

    static func log(_ settings: Settings, isGateway: Bool, to logger: Logger) {
        let gateway = settings.gateway
        let monitor =
            isGateway
            ? settings.gatewayMonitorPort.map { _ in settings.gatewayMonitorHost }
            : settings.monitorPort.map { _ in settings.monitorHost }
        let place = Surroundings(
            isRoot: geteuid() == 0, host: isGateway ? gateway.host : nil,
            hasTLS: settings.gatewayTLS.certificate != nil, hasTrustedProxy: !gateway.trustedProxies.isEmpty,
            hasCommonPort: settings.hasCommonPort, trustsAnyRedis: settings.redisTLS.verification == .anything,
            // The limits by address are on by default, so the gateway warns of them only when such a proxy sends a
            // request.
            judgesAddresses: !gateway.serverAddresses.isEmpty, monitor: monitor,
            hasMonitorSecret: settings.monitorSecret != nil,
            proxyVariables: proxyVariables(ProcessInfo.processInfo.environment))
        for warning in all(place) { warning.log(to: logger) }
        for text in settings.quotedSecretFiles {
            StartWarning(problem: text, remedy: "remove the quotes from the file").log(to: logger)
        }
    }

    func log(to logger: Logger) { logger.warning("\(problem)", metadata: ["remedy": "\(remedy)"]) }
}
