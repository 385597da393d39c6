import Glibc
import HTTPAPI
import Logging
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

    /// - Parameters:
    ///   - host: the address at which a gateway listens; nil: it is a worker.
    ///   - judgesAddresses: whether the settings have a limit or a right by address.
    static func all(
        isRoot: Bool, host: String?, hasTLS: Bool, hasProxy: Bool, judgesAddresses: Bool = false
    ) -> [StartWarning] {
        var warnings = isRoot ? [root] : []
        guard let host, !hasProxy else { return warnings }
        let isOpen = !host.hasPrefix("127.") && host != "::1" && host != "localhost"
        if isOpen, !hasTLS { warnings.append(withoutTLS) }
        if !isOpen, judgesAddresses { warnings.append(unnamedProxy) }
        return warnings
    }

    static func log(_ settings: Settings, isGateway: Bool, to logger: Logger) {
        let gateway = settings.gateway
        let warnings = all(
            isRoot: geteuid() == 0, host: isGateway ? gateway.host : nil,
            hasTLS: settings.gatewayTLS.certificate != nil, hasProxy: !gateway.trustedProxies.isEmpty,
            judgesAddresses: gateway.requestsPerAddress > 0 || !gateway.serverAddresses.isEmpty)
        for warning in warnings { warning.log(to: logger) }
    }

    func log(to logger: Logger) { logger.warning("\(problem)", metadata: ["remedy": "\(remedy)"]) }
}
