import APNsClient
import APNsSimulator
import APNsWire
import Delivery
import Lanes
import Synchronization
import Testing

extension TransportTests {
    /// Tests fates of requests that libcurl can only guess but nghttp2 knows from the frames.
    @Suite struct ExactFateTests {
        @Test func `an abrupt GOAWAY loses nothing`() async throws {
            try await Simulation.run(.nghttp2) { server in
                server.faults.goawayAfter = 200
                server.faults.goawayMode = .abrupt
                server.faults.latency = 5
            } _: { it in
                #expect(await it.send(0..<1_000) == PageOutcome(accepted: 1_000))
                let record = it.simulator.snapshot()
                #expect(record.acceptedTokens == 1_000)
                #expect(record.duplicates == 0)
                #expect(record.goaways >= 1)
            }
        }

        @Test func `a silent stream times out alone and the connection stays`() async throws {
            try await Simulation.run(.nghttp2) { _ in
            } client: { client in
                client.requestTimeout = .seconds(5)
            } _: { it in
                #expect(await it.send(0..<50) == PageOutcome(accepted: 50))
                var faults = Faults()
                faults.stallShare = 1
                try it.simulator.setFaults(faults)
                let isOver = Atomic(false)
                async let silent = {
                    let outcome = await it.send(50..<51)
                    isOver.store(true, ordering: .relaxed)
                    return outcome
                }()
                try await it.wait { $0.stalled > 0 }
                try it.simulator.setFaults(Faults())
                // Other requests are answered on the same connection until this one's deadline.
                for page in 2..<100_000 where !isOver.load(ordering: .relaxed) {
                    #expect(await it.send(page * 50..<page * 50 + 50) == PageOutcome(accepted: 50))
                }
                #expect(await silent.kinds == [.unanswered(NoAnswer(.timeout, mayHaveBeenDelivered: true)): 1])
                #expect(await it.send(51..<100) == PageOutcome(accepted: 49))
                let record = it.simulator.snapshot()
                #expect(record.connections == 1)
                #expect(record.cancelled + record.stalled >= 1)
            }
        }
    }
}
