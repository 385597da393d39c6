import Synchronization

/// The number of the stored format, as this process last read it. 0: not yet.
package final class DeploymentFormat: Sendable {
    /// From this number on, pushes may be lone, and the index of pushes may have blocks.
    package static let lonePushes = 2
    private let known = Atomic<Int>(0)

    package init() {}

    package var number: Int { known.load(ordering: .relaxed) }

    package func note(_ number: Int) { known.store(number, ordering: .relaxed) }
}
