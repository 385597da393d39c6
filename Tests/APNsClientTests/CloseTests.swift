import APNsClient
import APNsSimulator
import APNsWire
import Testing

extension TransportTests {
    @Suite struct CloseTests {
        private static let cancelled = PushOutcome.unanswered(NoAnswer(.cancelled, mayHaveBeenDelivered: false))

        @Test(arguments: TransportKind.allCases)
        func closingWaitsForWhatIsInFlightAndCancelsTheRest(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.streams = 50
                server.faults.latency = 100
            } _: { it in
                async let outcome = it.send(0..<1_000)
                try await it.wait { $0.maximumInFlight >= 10 }
                await it.transport.close()
                let result = await outcome
                #expect(result.count == 1_000)
                #expect(result.accepted >= 10)
                #expect(result.kinds == [Self.cancelled: 1_000 - result.accepted])
                // Whatever reached the server was answered, and its answer was counted.
                #expect(it.simulator.snapshot().accepted == result.accepted)
            }
        }

        @Test(arguments: TransportKind.allCases)
        func closingDoesNotOutlastTheDeadlineOfAServerThatIsSilent(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.faults.stallAfter = 0
            } client: { client in
                client.requestTimeout = .milliseconds(500)
            } _: { it in
                async let outcome = it.send(0..<10)
                try await it.wait { $0.requests > 0 }
                let start = ContinuousClock.now
                await it.transport.close()
                #expect(ContinuousClock.now - start < .seconds(4))
                #expect(await outcome.count == 10)
            }
        }

        @Test(arguments: TransportKind.allCases)
        func aPageAfterTheCloseIsCancelled(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { it in
                #expect(await it.send(0..<10) == PageOutcome(accepted: 10))
                await it.transport.close()
                await it.transport.close()
                #expect(await it.send(0..<10).kinds == [Self.cancelled: 10])
            }
        }

        @Test(arguments: TransportKind.allCases)
        func manyTransportsComeAndGoWithoutLeavingThreadsOrDescriptors(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { it in
                let before = openDescriptors()
                for number in 0..<20 {
                    let transport = try kind.make(configuration: it.client, logger: it.logger)
                    #expect(await transport.send(Simulation.page(number..<number + 5), Simulation.push()).accepted == 5)
                    await transport.close()
                }
                // Other tests open descriptors meanwhile: a leak of one or more per transport would show all the same.
                #expect(openDescriptors() < before + 200)
            }
        }
    }
}
