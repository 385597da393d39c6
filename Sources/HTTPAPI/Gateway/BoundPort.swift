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
