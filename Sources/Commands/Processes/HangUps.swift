import Glibc

/// Catches SIGHUP from the start of a process on. Its default action would end a process that still waits for Redis. A
/// signal that comes before somebody listens is kept.
final class HangUps {
    let signals: AsyncStream<Void>

    init() {
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        signals = stream
        Signals.listen(to: SIGHUP) { continuation.yield() }
    }

    deinit { Signals.ignore(SIGHUP) }
}
