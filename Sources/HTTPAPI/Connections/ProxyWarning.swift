import Logging
import Synchronization

/// Says once that a proxy on this machine is not named in `gateway.trusted_proxies`. The most usual deployment has one,
/// and its clients are all counted as one.
final class ProxyWarning: Sendable {
    private let wasSaid = Atomic(false)

    func log(to logger: Logger) {
        guard !wasSaid.load(ordering: .relaxed), !wasSaid.exchange(true, ordering: .relaxed) else { return }
        logger.warning(
            "a proxy on this machine is not in gateway.trusted_proxies: limits by address count all of its clients as one",
            metadata: ["remedy": "name it there, such as 127.0.0.1, and let it send X-Forwarded-For"])
    }
}
