import APNsClient
import APNsSimulator
import APNsWire
import Delivery
import Lanes
import LiveActivity
import Synchronization
import Testing

extension TransportTests {
    /// Tests servers that cannot be used and requests that are not answered, while other requests are.
    @Suite struct OutageTests {
        // MARK: Connections that end before they begin

        @Test(arguments: TransportKind.allCases)
        func `GOAWAY with nothing processed loses nothing`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.faults.goawayAfter = 1
                server.faults.goawayMode = .abrupt
            } _: { it in
                async let outcome = it.send(0..<100)
                try await it.wait { $0.goaways >= 2 }
                #expect(it.simulator.snapshot().accepted == 0)
                try it.simulator.setFaults(Faults())
                var result = await outcome
                // On a busy machine the page may give up before the faults end. Nothing was processed then.
                if result.accepted == 0 { result = await it.send(0..<100) }
                let record = it.simulator.snapshot()
                #expect(record.duplicates == 0)
                switch kind {
                case .nghttp2: #expect(result == PageOutcome(accepted: 100))
                case .libcurl:
                    // libcurl cannot always tell a GOAWAY from a broken connection. The fate of such
                    // a request is unknown.
                    let lost = PushOutcome.unanswered(NoAnswer(.connectionLost, mayHaveBeenDelivered: true))
                    #expect(result.count == 100 && result.kinds.keys.allSatisfy { $0 == lost }, "\(result.kinds)")
                    #expect(result.exceptions.count <= record.goaways)
                }
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `connections that end as soon as they stand are made more and more rarely`(_ kind: TransportKind)
            async throws
        {
            try await Simulation.run(kind) { server in
                server.faults.closeAfter = 0
            } client: { client in
                client.requestTimeout = .seconds(4)
            } _: { it in
                // Requests that were not sent wait for another connection, and are given up after some failed ones.
                for number in 0..<2 {
                    let outcome = await it.send(number * 10..<number * 10 + 10)
                    #expect(outcome.accepted == 0 && outcome.count == 10)
                }
                let record = it.simulator.snapshot()
                #expect(record.connections <= 15, "\(record.connections) connections")
                try it.simulator.setFaults(Faults())
                #expect(await it.send(100..<200) == PageOutcome(accepted: 100))
            }
        }

        @Test(arguments: TransportKind.allCases, [Silence.beforeTLS, .beforeHTTP2])
        func `a server that takes connections and says nothing is a timeout`(
            _ kind: TransportKind, _ silence: Silence
        ) async throws {
            try await Simulation.run(kind) { server in
                server.faults.silence = silence
            } client: { client in
                client.requestTimeout = .seconds(6)
            } _: { it in
                let outcome = await it.send(0..<10)
                #expect(outcome.count == 10 && outcome.accepted == 0)
                for exception in outcome.exceptions {
                    guard case .unanswered(let noAnswer) = exception.outcome else {
                        Issue.record("\(exception)")
                        continue
                    }
                    #expect(noAnswer.cause == .timeout)
                    if silence == .beforeTLS { #expect(!noAnswer.mayHaveBeenDelivered) }
                }
                try it.simulator.setFaults(Faults())
                #expect(await it.send(10..<20) == PageOutcome(accepted: 10))
            }
        }

        // MARK: TLS

        @Test(arguments: TransportKind.allCases)
        func `a certificate that has expired is not trusted`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.certificateLife = -3_600
            } _: { it in
                let outcome = await it.send(0..<20)
                #expect(outcome.kinds == [.unanswered(NoAnswer(.tls, mayHaveBeenDelivered: false)): 20])
                #expect(it.simulator.snapshot().requests == 0)
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `a certificate of another host is not trusted`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.host = "0.0.0.0"
            } _: { it in
                var configuration = it.client
                configuration.origin = "https://127.0.0.9:\(it.simulator.port)"
                let transport = try LaneTransport(kind, configuration: configuration, logger: it.logger)
                let outcome = await transport.send(Simulation.page(0..<20), Simulation.push())
                #expect(outcome.kinds == [.unanswered(NoAnswer(.tls, mayHaveBeenDelivered: false)): 20])
                #expect(it.simulator.snapshot().requests == 0)
                await transport.close()
            }
        }

        // MARK: Others go on

        @Test(arguments: TransportKind.allCases)
        func `one silent token holds up no other`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.faults.stallTokens = [Hex.encode(Simulation.token(7))]
            } client: { client in
                client.requestTimeout = .seconds(5)
            } _: { it in
                let isOver = Atomic(false)
                async let silent = {
                    let outcome = await it.send(0..<100)
                    isOver.store(true, ordering: .relaxed)
                    return outcome
                }()
                try await it.wait { $0.accepted >= 99 }
                // Its page waits for it. Other pages pass on the same connection, which is kept.
                var pages = 0
                for page in 1..<10_000 where !isOver.load(ordering: .relaxed) {
                    #expect(await it.send(page * 100..<page * 100 + 100) == PageOutcome(accepted: 100))
                    pages += 1
                }
                #expect(pages > 1)
                let outcome = await silent
                let timeout = PushOutcome.unanswered(NoAnswer(.timeout, mayHaveBeenDelivered: true))
                #expect(outcome == PageOutcome(accepted: 99, exceptions: [.init(index: 7, outcome: timeout)]))
                #expect(it.simulator.snapshot().connections == 1)
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `a slow connection takes no work from the others`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                // The first of three connections is slow. It answers after six seconds, and the others at once.
                server.faults.slowEvery = 3
                server.faults.slowLatency = 6_000
                server.streams = 100
            } client: { client in
                client.lanes = 3
            } _: { it in
                await withTaskGroup { group in
                    for number in 0..<10 { group.addTask { await it.send(number * 300..<number * 300 + 300) } }
                    for await outcome in group { #expect(outcome == PageOutcome(accepted: 300)) }
                }
                let record = it.simulator.snapshot()
                #expect(record.connections >= 3)
                var sent: [Int: Int] = [:]
                for token in it.simulator.tokens() { sent[token.history[0].port, default: 0] += 1 }
                // A fair share would be 1,000. A connection has one request until its first response, and then as
                // many as its speed allows.
                let fewest = try #require(sent.values.min())
                #expect(fewest < 300, "\(sent)")
                #expect(record.duplicates == 0)
            }
        }
    }
}
