import APNsClient
import APNsSimulator
import APNsWire
import Delivery
import Lanes
import Synchronization
import Testing

extension TransportTests {
    @Suite struct PermissionTests {
        /// A permission for a number of requests, like a lease that ends while a page is being sent.
        private final class CountedPermission: SendPermission {
            private let left: Atomic<Int>
            init(_ count: Int) { left = Atomic(count) }
            var holds: Bool { left.subtract(1, ordering: .relaxed).newValue >= 0 }
        }

        @Test(arguments: TransportKind.allCases)
        func `what has not left when the permission ends comes back unsent`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { it in
                let outcome = await it.transport.send(
                    Simulation.page(0..<50), Simulation.push(), while: CountedPermission(10))
                // A request that found no stream asks for permission again.
                #expect((1...10).contains(outcome.accepted))
                let unsent = PushOutcome.unanswered(NoAnswer(.cancelled, mayHaveBeenDelivered: false))
                #expect(outcome.kinds == [unsent: 50 - outcome.accepted])
                #expect(it.simulator.snapshot().requests == outcome.accepted)
                // Other pages are not affected.
                #expect(await it.send(50..<100) == PageOutcome(accepted: 50))
            }
        }
    }
}
