import Dispatch
import Glibc
import Synchronization

/// Handles SIGTERM and SIGINT. The first signal asks for an orderly end, and the second ends the process at once. That
/// loses nothing either, because other workers claim what this process held.
final class SignalTrap {
    private let sources: [any DispatchSourceSignal]
    let first: AsyncStream<Int32>

    init() {
        let (stream, continuation) = AsyncStream<Int32>.makeStream()
        first = stream
        let queue = DispatchQueue(label: "signals")
        let count = Atomic(0)
        sources = [SIGTERM, SIGINT].map { number in
            // Ignore the signal itself: the default action would end the process before the source sees it.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                if count.add(1, ordering: .relaxed).newValue > 1 { _exit(128 + number) }
                continuation.yield(number)
                continuation.finish()
            }
            source.activate()
            return source
        }
    }
}
