import Synchronization

/// Guesses from a name's last publish whether its next one needs an entry. So an idle name is woken in the same round
/// trip, and a busy name gets no useless entries. The accept script decides in the end.
final class WakeGuess: Sendable {
    private static let most = 10_000
    /// Names, as routes, whose last publish needed no entry.
    private let quiet = Mutex(Set<String>())

    func needsEntry(_ route: String) -> Bool { quiet.withLock { !$0.contains(route) } }

    func learn(_ route: String, needed: Bool) {
        quiet.withLock { quiet in
            if needed {
                quiet.remove(route)
            } else {
                if quiet.count >= Self.most { quiet = [] }
                quiet.insert(route)
            }
        }
    }
}
