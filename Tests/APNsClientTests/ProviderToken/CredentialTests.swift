import APNsClient
import APNsSimulator
import APNsWire
import Delivery
import Lanes
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
                #expect(outcome.count == 20 && outcome.accepted == 0)
                #expect(outcome.kinds[.rejected(expected), default: 0] > 0)
                #expect(outcome.kinds.keys.allSatisfy { [.rejected(expected), expected.unsent].contains($0) })
                #expect(it.simulator.snapshot().requests <= 40)
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `a connection that takes no further provider token is replaced`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { server in
                // Each connection takes one token. By default it takes a second one in 20 minutes.
                server.providerTokenUpdates = 0
            } _: { it in
                #expect(await it.send(0..<100) == PageOutcome(accepted: 100))
                var faults = Faults()
                faults.expireNext = 1
                try it.simulator.setFaults(faults)
                let tooMany = Rejection(status: 429, reason: .known(.tooManyProviderTokenUpdates))
                #expect(await it.send(100..<101).kinds == [.rejected(tooMany): 1])
                // The expired token cannot serve again, so without another connection all would wait for 20 minutes.
                #expect(await it.send(101..<200) == PageOutcome(accepted: 99))
                #expect(it.simulator.snapshot().byReason["TooManyProviderTokenUpdates"] == 1)
                #expect(it.simulator.snapshot().connections == 2)
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `a key that APNs does not know is reported after one request`(_ kind: TransportKind) async throws {
            let other = try P256SigningKey.generatePEM()
            try await Simulation.run(kind) { _ in
            } client: { client in
                client.keys = APNsKeyRing([APNsKey(teamID: "LAMPLIGHT1", keyID: "SIMULATOR1", pem: other)])
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

        // MARK: Two keys

        /// A simulator with two keys, and a client that prefers the first.
        private func run(
            _ kind: TransportKind, _ body: (Simulation, _ first: APNsKey, _ second: APNsKey) async throws -> Void
        ) async throws {
            let pems = [try P256SigningKey.generatePEM(), try P256SigningKey.generatePEM()]
            let names = ["FIRSTKEY01", "SECONDKEY2"]
            let keys = zip(names, pems).map { APNsKey(teamID: "TEAM123456", keyID: $0, pem: $1) }
            try await Simulation.run(kind) { server in
                server.keys = zip(names, pems).map {
                    ProviderKey(
                        keyID: $0, teamID: "TEAM123456", material: .pem(String(decoding: $1, as: UTF8.self)))
                }
            } client: { client in
                client.keys = APNsKeyRing(keys)
            } _: { it in
                try await body(it, keys[0], keys[1])
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `when APNs refuses the key in use the next one takes over without a failed push`(
            _ kind: TransportKind
        ) async throws {
            try await run(kind) { it, _, _ in
                #expect(await it.send(0..<300) == PageOutcome(accepted: 300))
                var faults = Faults()
                faults.refusedKeys = ["FIRSTKEY01": "InvalidProviderToken"]
                try it.simulator.setFaults(faults)
                #expect(await it.send(300..<900) == PageOutcome(accepted: 600))
                // The revoked key is not tried again.
                let refused = it.simulator.snapshot().byReason["InvalidProviderToken"] ?? 0
                #expect(refused > 0)
                #expect(await it.send(900..<1_000) == PageOutcome(accepted: 100))
                #expect(it.simulator.snapshot().byReason == ["InvalidProviderToken": refused])
                #expect(it.simulator.snapshot().duplicates == 0)
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `a key for the other environment is left for one that fits`(_ kind: TransportKind) async throws {
            let pems = [try P256SigningKey.generatePEM(), try P256SigningKey.generatePEM()]
            let names = ["SANDBOXKEY", "PRODUCTION"]
            try await Simulation.run(kind) { server in
                server.keys = zip(names, pems).map {
                    ProviderKey(
                        keyID: $0, teamID: "TEAM123456", material: .pem(String(decoding: $1, as: UTF8.self)))
                }
                server.keys[0].environment = .sandbox
            } client: { client in
                client.keys = APNsKeyRing(
                    zip(names, pems).map { APNsKey(teamID: "TEAM123456", keyID: $0, pem: $1) })
            } _: { it in
                #expect(await it.send(0..<100) == PageOutcome(accepted: 100))
                #expect(it.simulator.snapshot().byReason == ["BadEnvironmentKeyInToken": 1])
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `two refused keys end as one answer for each token, and the next page tries no key twice`(
            _ kind: TransportKind
        ) async throws {
            try await run(kind) { it, _, _ in
                var faults = Faults()
                faults.refusedKeys = ["FIRSTKEY01": "InvalidProviderToken", "SECONDKEY2": "InvalidProviderToken"]
                try it.simulator.setFaults(faults)
                let expected = Rejection(status: 403, reason: .known(.invalidProviderToken))
                #expect(await it.send(0..<20).kinds == [.rejected(expected): 1, expected.unsent: 19])
                #expect(it.simulator.snapshot().requests == 2, "one for each key")
            }
        }

        @Test(arguments: TransportKind.allCases)
        func `a replaced key signs the next request, while those in flight are answered`(
            _ kind: TransportKind
        ) async throws {
            try await run(kind) { it, first, second in
                #expect(try it.client.keys.replace(with: [first]))
                #expect(try !it.client.keys.replace(with: [first]), "the same keys are no change")
                #expect(await it.send(0..<100) == PageOutcome(accepted: 100))
                async let large = it.send(100..<2_000)
                try await it.wait { $0.requests > 200 }
                #expect(try it.client.keys.replace(with: [second]))
                #expect(await large == PageOutcome(accepted: 1_900))
                #expect(await it.send(2_000..<2_100) == PageOutcome(accepted: 100))
                let record = it.simulator.snapshot()
                #expect(record.byReason.isEmpty, "APNs refuses a token of another key on a used connection")
                #expect(record.providerTokens == 2)
                #expect(record.duplicates == 0)
            }
        }

        @Test func `an unusable key replaces nothing`() throws {
            let pem = try P256SigningKey.generatePEM()
            let ring = APNsKeyRing([APNsKey(teamID: "T", keyID: "K", pem: pem)])
            #expect(throws: APNsClientError.self) {
                try ring.replace(with: [APNsKey(teamID: "T", keyID: "K2", pem: Array("nonsense".utf8))])
            }
            #expect(throws: APNsClientError.self) { try ring.replace(with: []) }
            #expect(try !ring.replace(with: [APNsKey(teamID: "T", keyID: "K", pem: pem)]), "it has the same key still")
        }
    }
}
