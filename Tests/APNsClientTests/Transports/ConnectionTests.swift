import APNsClient
import APNsWire
import Delivery
import Lanes
import LiveActivity
import Testing

@testable import APNsSimulator

extension TransportTests {
    @Suite struct ConnectionTests {
        private static let lost = PushOutcome.unanswered(NoAnswer(.connectionLost, mayHaveBeenDelivered: true))
        private static let timeout = PushOutcome.unanswered(NoAnswer(.timeout, mayHaveBeenDelivered: true))

        // MARK: The server's stream limit

        @Test(arguments: TransportKind.allCases)
        func `a low limit is filled and not exceeded`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.streams = 20
                server.faults.latency = 1
            } _: { it in
                #expect(await it.send(0..<1_000) == PageOutcome(accepted: 1_000))
                let record = it.simulator.snapshot()
                #expect(record.maximumInFlight == 20)
                #expect(record.excessStreams == 0)
                #expect(record.connections == 1)
                #expect(record.requests == 1_000)
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `a limit that falls to one and rises again loses nothing`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.faults.settings = [
                    StreamLimitChange(afterRequests: 300, streams: 1),
                    StreamLimitChange(afterRequests: 400, streams: 200),
                ]
            } _: { it in
                #expect(await it.send(0..<1_000) == PageOutcome(accepted: 1_000))
                let record = it.simulator.snapshot()
                #expect(record.acceptedTokens == 1_000)
                #expect(record.duplicates == 0)
                #expect(record.excessStreams == 0)
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `a limit that falls with each rejection loses nothing`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.faults.deadShare = 0.05
                server.faults.settingsDropOnRejection = true
            } _: { it in
                let outcome = await it.send(0..<1_000)
                let dead = (0..<1_000).filter {
                    APNsSimulator.isDead(token: Simulation.token($0), share: 0.05, seed: 1)
                }
                #expect(outcome.exceptions.map(\.index) == dead)
                #expect(outcome.accepted == 1_000 - dead.count)
                #expect(it.simulator.snapshot().duplicates == 0)
            }
        }

        // MARK: Connections that end

        @Test(arguments: TransportKind.allCases)
        func `a graceful GOAWAY loses nothing and sends nothing twice`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.faults.goawayAfter = 150
            } _: { it in
                #expect(await it.send(0..<1_000) == PageOutcome(accepted: 1_000))
                let record = it.simulator.snapshot()
                #expect(record.acceptedTokens == 1_000)
                #expect(record.duplicates == 0)
                #expect(record.connections >= 7)
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `an abrupt GOAWAY accounts for each token once`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.faults.goawayAfter = 200
                server.faults.goawayMode = .abrupt
                server.faults.latency = 5
            } _: { it in
                let outcome = await it.send(0..<1_000)
                #expect(outcome.count == 1_000)
                #expect(outcome.kinds.keys.allSatisfy { $0 == Self.lost })
                let record = it.simulator.snapshot()
                #expect(record.duplicates == 0)
                #expect(record.accepted >= outcome.accepted)
                #expect(record.goaways >= 1)
                try await expectRecovery(it)
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `a connection that closes leaves what was in flight unknown`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.faults.closeAfter = 300
                server.faults.latency = 5
            } _: { it in
                let outcome = await it.send(0..<1_000)
                #expect(outcome.count == 1_000)
                #expect(outcome.kinds.keys.allSatisfy { $0 == Self.lost })
                #expect(outcome.exceptions.count > 0)
                #expect(it.simulator.snapshot().duplicates == 0)
                try await expectRecovery(it)
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `a reset stream is of unknown fate`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.faults.resetShare = 0.1
                server.faults.resetDelivers = true
            } _: { it in
                let outcome = await it.send(0..<1_000)
                let record = it.simulator.snapshot()
                #expect(outcome.count == 1_000)
                #expect(record.reset > 0)
                #expect(outcome.kinds == [Self.lost: record.reset])
                #expect(record.duplicates == 0)
                // The end of a stream does not end the connection.
                #expect(record.connections == 1)
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `a refused stream is sent again at once`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.faults.resetShare = 0.02
                server.faults.resetCode = .refusedStream
            } _: { it in
                let outcome = await it.send(0..<500)
                #expect(outcome.count == 500)
                let record = it.simulator.snapshot()
                #expect(record.reset > 0)
                #expect(record.duplicates == 0)
                #expect(record.accepted == outcome.accepted)
                #expect(outcome.accepted == 500)
            }
        }

        // MARK: Silence

        @Test(arguments: TransportKind.allCases)
        func `a request without an answer times out and the next page has another connection`(_ kind: TransportKind)
            async throws
        {
            try await Simulation.run(kind) { server in
                server.faults.stallAfter = 100
            } client: { client in
                client.requestTimeout = .seconds(6)
            } _: { it in
                // A late response would be a sign of life, so these end before the silence begins.
                #expect(await it.send(0..<100) == PageOutcome(accepted: 100))
                let outcome = await it.send(100..<150)
                #expect(outcome.kinds == [Self.timeout: 50])
                #expect(it.simulator.snapshot().duplicates == 0)
                try await expectRecovery(it)
                #expect(it.simulator.snapshot().connections >= 2)
            }
        }

        /// The time limit is the test: if each request waited for its own deadline, a hundred would take ten minutes.
        @Test(.timeLimit(.minutes(5)), arguments: TransportKind.allCases)
        func `a frozen connection is left after one deadline`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.faults.freezeAfter = 50
            } client: { client in
                client.requestTimeout = .seconds(6)
            } _: { it in
                _ = await it.send(0..<60)
                try await expectRecovery(it)
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `a server that never answers is a timeout with nothing sent`(_ kind: TransportKind) async throws {
            let port = try LoopbackPort(isListening: true)
            try await expectAll(
                kind, NoAnswer(.timeout, mayHaveBeenDelivered: false), of: 10, origin: port.origin,
                timeout: .milliseconds(300))
        }

        // MARK: Connections that cannot be made

        @Test(arguments: TransportKind.allCases)
        func `a refused port fails the page at once`(_ kind: TransportKind) async throws {
            let port = try LoopbackPort(isListening: false)
            try await expectAll(
                kind, NoAnswer(.connectionFailed, mayHaveBeenDelivered: false), of: 1_000, origin: port.origin)
        }

        @Test(arguments: TransportKind.allCases)
        func `a name without an address fails the page`(_ kind: TransportKind) async throws {
            try await expectAll(
                kind, NoAnswer(.connectionFailed, mayHaveBeenDelivered: false), of: 3,
                origin: "https://apns.invalid")
        }

        @Test(arguments: TransportKind.allCases)
        func `a name is looked up`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { _ in
            } client: { client in
                client.origin = client.origin.replacing("127.0.0.1", with: "localhost")
            } _: { it in
                #expect(await it.send(0..<10) == PageOutcome(accepted: 10))
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `a certificate that is not trusted fails the page and no token is sent`(_ kind: TransportKind) async throws
        {
            try await Simulation.run(kind) { client in
                client.faults = Faults()
            } client: { client in
                client.caFile = nil
            } _: { it in
                let outcome = await it.send(0..<100)
                #expect(outcome.kinds == [.unanswered(NoAnswer(.tls, mayHaveBeenDelivered: false)): 100])
                #expect(it.simulator.snapshot().requests == 0)
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `a server that comes back is used again`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.faults.refuseConnections = true
            } _: { it in
                for _ in 0..<3 {
                    let outcome = await it.send(0..<10)
                    #expect(outcome.exceptions.count == 10)
                }
                try await expectRecovery(it)
            }
        }

        /// Checks that the next page goes through completely without faults.
        private func expectRecovery(_ it: Simulation) async throws {
            try it.simulator.setFaults(Faults())
            let outcome = await it.send(10_000..<10_100)
            #expect(outcome == PageOutcome(accepted: 100), "\(outcome.kinds) \(it.simulator.snapshot())")
        }

        private func expectAll(
            _ kind: TransportKind, _ answer: NoAnswer, of count: Int, origin: String, timeout: Duration = .seconds(10)
        ) async throws {
            try await Simulation.run(kind) { _ in
            } client: { client in
                client.origin = origin
                client.requestTimeout = timeout
            } _: { it in
                let outcome = await it.send(0..<count)
                #expect(outcome.kinds == [.unanswered(answer): count])
            }
        }
    }
}
