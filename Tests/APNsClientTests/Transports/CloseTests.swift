import APNsClient
import APNsSimulator
import APNsWire
import Delivery
import Lanes
import Testing

extension TransportTests {
    @Suite struct CloseTests {
        private static let cancelled = PushOutcome.unanswered(NoAnswer(.cancelled, mayHaveBeenDelivered: false))

        @Test(arguments: TransportKind.allCases)
        func `closing waits for what is in flight and cancels the rest`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.streams = 50
                // Twenty rounds of it: on a busy machine too, the page is not over when the transport is closed.
                server.faults.latency = 300
            } _: { it in
                async let outcome = it.send(0..<1_000)
                try await it.wait { $0.maximumInFlight >= 10 }
                await it.transport.close()
                let result = await outcome
                #expect(result.count == 1_000)
                #expect(result.accepted >= 10)
                #expect(result.kinds == [Self.cancelled: 1_000 - result.accepted])
                // Every request that reached the server was answered, and its response was counted.
                #expect(it.simulator.snapshot().accepted == result.accepted)
            }
        }

        /// The time limit is the test: without the deadline the close would wait for ever.
        @Test(.timeLimit(.minutes(5)), arguments: TransportKind.allCases)
        func `closing does not outlast the deadline of a server that is silent`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.faults.stallAfter = 0
            } client: { client in
                // Long enough for a busy machine to connect before it.
                client.requestTimeout = .seconds(10)
            } _: { it in
                async let outcome = it.send(0..<10)
                try await it.wait { $0.requests > 0 }
                await it.transport.close()
                #expect(await outcome.count == 10)
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `a page after the close is cancelled`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { it in
                #expect(await it.send(0..<10) == PageOutcome(accepted: 10))
                await it.transport.close()
                await it.transport.close()
                #expect(await it.send(0..<10).kinds == [Self.cancelled: 10])
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `many transports come and go without leaving threads or descriptors`(_ kind: TransportKind) async throws {
            // Use a separate process, because other tests open and close thousands of descriptors in this one.
            await #expect(processExitsWith: .success) { [kind] in
                try await Simulation.run(kind) { it in
                    func comeAndGo(_ number: Int) async throws {
                        let transport = try LaneTransport(kind, configuration: it.client, logger: it.logger)
                        let page = Simulation.page(number * 5..<number * 5 + 5)
                        #expect(await transport.send(page, Simulation.push()).accepted == 5)
                        await transport.close()
                    }
                    // Files that the first transport opens for the whole process stay open.
                    try await comeAndGo(0)
                    try await it.wait { $0.openConnections == 0 }
                    let before = openDescriptors()
                    // A leak of one descriptor a transport would be 20.
                    for number in 1...20 { try await comeAndGo(number) }
                    try await it.wait { $0.openConnections == 0 }
                    // A lane's thread gives its last descriptors back a moment after its transport is closed.
                    try await it.wait { _ in openDescriptors() < before + 10 }
                }
            }
        }
    }
}
