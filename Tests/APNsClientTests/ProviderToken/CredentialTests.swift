import APNsClient
import APNsSimulator
import APNsWire
import OpenSSL
import Testing

extension TransportTests {
    @Suite struct CredentialTests {
        @Test(arguments: TransportKind.allCases)
        func `an expired token is renewed once and the request repeated`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.faults.expireNext = 1
            } _: { it in
                #expect(await it.send(0..<100) == PageOutcome(accepted: 100))
                let record = it.simulator.snapshot()
                #expect(record.byReason == ["ExpiredProviderToken": 1])
                #expect(record.requests == 101)
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `many answers to one expired token renew it once`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { it in
                #expect(await it.send(0..<500) == PageOutcome(accepted: 500))
                var faults = Faults()
                faults.expireNext = 50
                try it.simulator.setFaults(faults)
                let outcome = await it.send(500..<1_000)
                // A second token within 20 minutes after the renewal would get a 429 TooManyProviderTokenUpdates.
                #expect(it.simulator.snapshot().byReason["TooManyProviderTokenUpdates"] == nil)
                #expect(outcome.count == 500)
                #expect(it.simulator.snapshot().duplicates == 0)
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `a token that stays expired is reported after one repetition`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.faults.expireIssuedBefore = 4_000_000_000
            } _: { it in
                let outcome = await it.send(0..<20)
                let expected = Rejection(status: 403, reason: .known(.expiredProviderToken))
                #expect(outcome.kinds == [.rejected(expected): 20])
                #expect(it.simulator.snapshot().requests <= 40)
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `a key that APNs does not know is reported after one request`(_ kind: TransportKind) async throws {
            let other = try P256SigningKey.generatePEM()
            try await Simulation.run(kind) { _ in
            } client: { client in
                client.keyPEM = other
            } _: { it in
                let outcome = await it.send(0..<20)
                #expect(outcome.exceptions.count == 20)
                for exception in outcome.exceptions {
                    guard case .rejected(let rejection) = exception.outcome else {
                        Issue.record("\(exception)")
                        continue
                    }
                    #expect(rejection.status == 403)
                    #expect(rejection.verdict == .haltApp)
                }
                // The first response stops all other requests.
                #expect(it.simulator.snapshot().requests == 1)
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `a shutdown retires the connection`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                server.faults.rejectAll = "Shutdown"
            } _: { it in
                let outcome = await it.send(0..<1)
                let shutdown = Rejection(status: 503, reason: .known(.shutdown))
                #expect(outcome.exceptions.count == 1)
                guard case .rejected(let rejection) = outcome.exceptions[0].outcome else {
                    Issue.record("\(outcome)")
                    return
                }
                #expect(rejection.status == shutdown.status && rejection.reason == shutdown.reason)
                try it.simulator.setFaults(Faults())
                #expect(await it.send(0..<10) == PageOutcome(accepted: 10))
                #expect(it.simulator.snapshot().connections == 2)
            }
        }
    }
}
