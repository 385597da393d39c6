import Synchronization

/// Set once, when the worker is asked to stop. No new page begins after that.
final class Drain: Sendable {
    private let flag = Atomic(false)
    var isOn: Bool { flag.load(ordering: .acquiring) }
    func begin() { flag.store(true, ordering: .releasing) }
}
