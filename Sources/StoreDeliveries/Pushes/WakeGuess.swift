import Synchronization

/// Guesses from a name's last publish whether its next one needs a stream entry. So the wake-up of an idle name takes
/// no extra round trip, and a busy name gets no useless entries. If the guess was wrong, `push-accept` says so.
final class WakeGuess: Sendable {
    private static let most = 10_000
    /// The routes of names whose last publish needed no entry.
    private let busy = Mutex(Set<String>())
    func needsEntry(_ route: String) -> Bool { busy.withLock { !$0.contains(route) } }

    func learn(_ route: String, needed: Bool) {
        busy.withLock { busy in
            if needed {
                busy.remove(route)
            } else {
                if busy.count >= Self.most { busy = [] }
                busy.insert(route)
            }
        }
    }
}
