import APNsClient
import APNsSimulator
import APNsWire
import Delivery
import Foundation
import Lanes
import LiveActivity
import Redis
import Store
import TestSupport
import Testing

@testable import Fanout

/// Tests the transports of several workers with one Redis, and a simulator that counts provider tokens.
@Suite(.serialized) struct FleetProviderTokenTests {
    private let app = try! AppKey("shop")

    private func page(_ count: Int) -> TokenPage {
        var page = TokenPage()
        for number in 0..<count {
            page.append(channel: [1], token: [UInt8](repeating: UInt8(number), count: 32), registeredAt: 0)
        }
        return page
    }

    private let push = PreparedPush(
        bundleID: "com.example.shop", priority: .high, expiration: 0,
        payload: Array(#"{"aps":{"timestamp":1790000000,"event":"update","content-state":{}}}"#.utf8))

    /// The transport of one worker. A process of its own would hold the same.
    private func transport(_ simulator: APNsSimulator, _ server: RedisServer) throws -> LaneTransport {
        let key = try #require(simulator.keys.first)
        guard case .file(let path) = key.material else { throw CocoaError(.fileNoSuchFile) }
        let store = Store(redis: RedisClient(url: server.url, scripts: Store.scripts, logger: .quiet))
        var configuration = APNsConfiguration(
            origin: simulator.url, teamID: key.teamID, keyID: key.keyID,
            keyPEM: Array(try Data(contentsOf: URL(fileURLWithPath: path))), caFile: simulator.caFile,
            requestTimeout: .seconds(60), share: FleetProviderTokens(store, app: app))
        // On a busy machine Redis's answer may take long. Without it a worker makes a token of its own.
        configuration.sharePatience = .seconds(120)
        return try LaneTransport(.libcurl, configuration: configuration, logger: .quiet)
    }

    private func withSimulator(
        _ body: (APNsSimulator, RedisServer) async throws -> Void
    ) async throws {
        let server = try await RedisServer.start()
        let directory = try temporaryDirectory()
        var configuration = SimulatorConfiguration(certificateDirectory: directory)
        // Allow one renewal in twenty minutes for all connections together.
        configuration.providerTokenScope = .key
        let simulator = try await APNsSimulator.start(configuration, logger: .quiet)
        let result: Result<Void, any Error>
        do { result = .success(try await body(simulator, server)) } catch { result = .failure(error) }
        await simulator.stop()
        server.stop()
        try? FileManager.default.removeItem(atPath: directory)
        try result.get()
    }

    @Test func `three workers send with one token, and renew it once when APNs calls it expired`() async throws {
        try await withSimulator { simulator, server in
            let workers = try (0..<3).map { _ in try transport(simulator, server) }
            await withTaskGroup { group in
                for worker in workers { group.addTask { await worker.send(page(50), push) } }
                for await outcome in group { #expect(outcome == PageOutcome(accepted: 50)) }
            }
            #expect(simulator.snapshot().providerTokens == 1)
            for worker in workers {
                var faults = Faults()
                faults.expireNext = 1
                try simulator.setFaults(faults)
                #expect(await worker.send(page(50), push) == PageOutcome(accepted: 50))
            }
            let record = simulator.snapshot()
            #expect(record.byReason == ["ExpiredProviderToken": 3])
            #expect(record.providerTokens == 2)
            for worker in workers { await worker.close() }
        }
    }

    @Test func `a worker that starts again uses the token of the others`() async throws {
        try await withSimulator { simulator, server in
            for _ in 0..<5 {
                let worker = try transport(simulator, server)
                #expect(await worker.send(page(5), push) == PageOutcome(accepted: 5))
                await worker.close()
            }
            #expect(simulator.snapshot().providerTokens == 1)
        }
    }

    @Test func `without Redis a worker sends with a token of its own`() async throws {
        try await withSimulator { simulator, server in
            server.stop()
            let worker = try transport(simulator, server)
            #expect(await worker.send(page(5), push) == PageOutcome(accepted: 5))
            await worker.close()
        }
    }
}
