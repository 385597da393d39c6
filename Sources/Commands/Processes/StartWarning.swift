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

    /// - Parameter host: the address at which a gateway listens; nil: it is a worker.
    static func all(isRoot: Bool, host: String?, hasTLS: Bool, hasProxy: Bool) -> [StartWarning] {
        let isOpen = host.map { !$0.hasPrefix("127.") && $0 != "::1" && $0 != "localhost" } ?? false
        return (isRoot ? [root] : []) + (isOpen && !hasTLS && !hasProxy ? [withoutTLS] : [])
    }

    static func log(_ settings: Settings, isGateway: Bool, to logger: Logger) {
        let gateway = settings.gateway
        let warnings = all(
            isRoot: geteuid() == 0, host: isGateway ? gateway.host : nil,
            hasTLS: settings.gatewayTLS.certificate != nil, hasProxy: !gateway.trustedProxies.isEmpty)
        for warning in warnings { warning.log(to: logger) }
    }

    func log(to logger: Logger) { logger.warning("\(problem)", metadata: ["remedy": "\(remedy)"]) }
}
