import Hummingbird
import Logging
import NIOCore
public import ServiceLifecycle

public protocol ListeningService: Service {
    /// Waits until the service listens, and returns its port. Nil if the service ended without binding.
    func boundPort() async -> Int?
}

extension Logger {
    /// Without Hummingbird's `info` lines about start and end, which the caller of the service logs itself.
    var quietAtInfo: Logger {
        var logger = self
        if logLevel == .info { logger.logLevel = .notice }
        return logger
    }
}

/// The port that a server listens on. Others can wait for it.
final class BoundPort: Sendable {
    private let first: Task<Int?, Never>
    private let settled: AsyncStream<Int?>.Continuation

    init() {
        let (ports, settled) = AsyncStream<Int?>.makeStream()
        self.settled = settled
        first = Task { await ports.first { _ in true } ?? nil }
    }

    /// Waits for the port. Nil if the server ended without one.
    func port() async -> Int? { await first.value }
    /// Sets the port. Only the first call has an effect.
    func settle(_ port: Int?) { settled.yield(port) }
}

/// Hummingbird's context of a request, with the connection's channel for deadlines on the body.
struct GatewayContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }
}
