import Dispatch
import Glibc

/// SIGTERM and SIGINT: the first asks for an orderly end, the second ends the process at once. Nothing is lost by the
/// second either: what was accepted is in Redis, and what this process held is claimed by others.
final class SignalTrap {
    private let sources: [any DispatchSourceSignal]
    let first: AsyncStream<Int32>

    init() {
        let (stream, continuation) = AsyncStream<Int32>.makeStream()
        first = stream
        // One serial queue counts for both signals.
        let queue = DispatchQueue(label: "signals")
        let count = SignalCount()
        sources = [SIGTERM, SIGINT].map { number in
            // The source sees the signal; without this the default action would end the process first.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                if count.next() > 1 { _exit(128 + number) }
                continuation.yield(number)
                continuation.finish()
            }
            source.activate()
            return source
        }
    }
}

/// Touched on the signals' queue only.
private final class SignalCount: @unchecked Sendable {  // guard: the serial queue "signals"
    private var count = 0
    func next() -> Int {
        count += 1
        return count
    }
}
