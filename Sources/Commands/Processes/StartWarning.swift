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

    static let openMonitor = StartWarning(
        problem: "other machines read /readyz and /metrics, with the app keys in them, without a secret",
        remedy: "set monitor.secret, or let monitor.host or worker.host be 127.0.0.1")

    /// - Parameters:
    ///   - host: the address at which a gateway listens; nil: it is a worker.
    ///   - monitor: the address of a port of its own for `/readyz` and `/metrics`; nil: there is none.
    static func all(
        isRoot: Bool, host: String?, hasTLS: Bool, hasProxy: Bool, monitor: String? = nil, hasSecret: Bool = false
    ) -> [StartWarning] {
        (isRoot ? [root] : []) + (isOpen(host) && !hasTLS && !hasProxy ? [withoutTLS] : [])
            + (isOpen(monitor) && !hasSecret ? [openMonitor] : [])
    }

    /// Whether other machines reach a port at this address.
    private static func isOpen(_ host: String?) -> Bool {
        host.map { !$0.hasPrefix("127.") && $0 != "::1" && $0 != "localhost" } ?? false
    }

    static func log(_ settings: Settings, isGateway: Bool, to logger: Logger) {
        let gateway = settings.gateway
        let monitor =
            isGateway
            ? settings.gatewayMonitorPort.map { _ in settings.gatewayMonitorHost }
            : settings.monitorPort.map { _ in settings.monitorHost }
        let warnings = all(
            isRoot: geteuid() == 0, host: isGateway ? gateway.host : nil,
            hasTLS: settings.gatewayTLS.certificate != nil, hasProxy: !gateway.trustedProxies.isEmpty,
            monitor: monitor, hasSecret: settings.monitorSecret != nil)
        for warning in warnings { warning.log(to: logger) }
    }

    func log(to logger: Logger) { logger.warning("\(problem)", metadata: ["remedy": "\(remedy)"]) }
}
