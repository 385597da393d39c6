internal import Synchronization

/// Requests that wait or are in flight.
final class RequestCount: Sendable {
    private let count = Atomic(0)

    var value: Int { count.load(ordering: .relaxed) }
    func add(_ requests: Int) { count.add(requests, ordering: .relaxed) }
}
