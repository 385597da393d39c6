import APNsClient
import APNsSimulator
import APNsWire
import Delivery
import Lanes
import LiveActivity
import TestSupport
import Testing

extension TransportTests {
    /// Tests phones that are never answered and hold each stream. The others are served beside them, as far as the
    /// streams go.
    @Suite struct SilentCrowdTests {
        /// Both names are too large to go before the other. The server allows one stream until the first request with
        /// a good provider token, and then more, as APNs does.
        @Test(arguments: TransportKind.allCases)
        func `a new connection that begins with silent phones serves another name before their time is over`(
            _ kind: TransportKind
        ) async throws {
            try await Simulation.run(kind) { server in
                server.faults.stallTokens = Simulation.hex(0..<100)
            } client: { client in
                client.lanes = 1
                client.requestTimeout = .seconds(20)
            } _: { it in
                async let silent = it.sendOpen(0..<100)
                try await it.wait { $0.stalled >= 5 }
                let healthy = await it.sendOpen(1_000..<1_050)
                let record = it.simulator.snapshot()
                #expect(healthy == PageOutcome(accepted: 50) && record.cancelled == 0, "\(healthy), \(record)")
                #expect(record.connections == 1)
                #expect(await silent.accepted == 0)
            }
        }

        /// With 33 streams one is kept for small pages, so large ones cannot fill them all.
        @Test(arguments: TransportKind.allCases)
        func `a name whose first phones are silent reaches the others before their time is over`(
            _ kind: TransportKind
        ) async throws {
            try await Simulation.run(kind) { server in
                server.faults.stallTokens = Simulation.hex(0..<60)
            } client: { client in
                client.lanes = 1
                client.requestTimeout = .seconds(30)
            } _: { it in
                async let outcome = it.sendOpen(0..<200)
                try await it.wait { $0.accepted == 140 }
                let record = it.simulator.snapshot()
                #expect(record.stalled == 60 && record.cancelled == 0 && record.connections == 1, "\(record)")
                #expect(await outcome.accepted > 0)
            }
        }

        /// Three phones of four are silent, and the streams are a third of them: three waves.
        @Test(arguments: TransportKind.allCases)
        func `streams that silent phones gave back are all used again`(_ kind: TransportKind) async throws {
            let (streams, silent) = (40, (0..<160).filter { $0 % 4 != 3 })
            try await Simulation.run(kind) { server in
                server.streams = streams
            } client: { client in
                client.lanes = 1
                client.requestTimeout = .seconds(8)
            } _: { it in
                #expect(await it.send(1_000..<1_200) == PageOutcome(accepted: 200), "connected")
                var faults = it.simulator.faults
                faults.stallTokens = Simulation.hex(silent)
                try it.simulator.setFaults(faults)
                async let outcome = it.sendOpen(0..<160)
                // The second wave is on its way before the first of its requests is over, and the third likewise.
                for wave in 2...3 {
                    try await it.wait { $0.stalled >= wave * streams - 4 }
                    let record = it.simulator.snapshot()
                    #expect(record.cancelled <= (wave - 1) * streams, "wave \(wave): \(record)")
                }
                try await it.wait { $0.accepted == 240 }
                let record = it.simulator.snapshot()
                #expect(record.stalled == silent.count && record.duplicates == 0, "\(record)")
                #expect(await outcome.exceptions.allSatisfy { $0.outcome != .accepted })
            }
        }
    }
}
