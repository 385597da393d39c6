import Glibc
import Synchronization

/// Handles SIGTERM and SIGINT. The first signal asks for an orderly end, and the second ends the process at once. That
/// loses nothing either, because other workers claim what this process held.
struct SignalTrap: Sendable {
    let first: AsyncStream<Int32>

    init() {
        let (stream, continuation) = AsyncStream<Int32>.makeStream()
        first = stream
        let isEnding = Atomic(false)
        for number in [SIGTERM, SIGINT] {
            Signals.listen(to: number) {
                if isEnding.exchange(true, ordering: .relaxed) { _exit(128 + number) }
                continuation.yield(number)
                continuation.finish()
            }
        }
    }
}
