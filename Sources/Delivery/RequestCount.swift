internal import Synchronization

/// Requests that wait or are in flight.
package final class RequestCount: Sendable {
    private let count = Atomic(0)

    package init() {}

    package var value: Int { count.load(ordering: .relaxed) }
    package func add(_ requests: Int) { count.add(requests, ordering: .relaxed) }
}
