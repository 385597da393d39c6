import APNsClient
import APNsSimulator
import APNsWire
import Delivery
import Foundation
import Lanes
import LiveActivity
import Logging
import Redis
import Store
import TestSupport
import Testing

@testable import Fanout

/// A Redis, a simulated APNs, and one app.
struct BroadcastFixture: Sendable {
    static let bundleID = "com.example.scores"

    let app: AppKey
    let store: Store
    let simulator: APNsSimulator
    let client: BroadcastClient
    let apns: APNsConfiguration
    let logger: Logger

    static func run(
        server: (inout SimulatorConfiguration) -> Void = { _ in }, _ body: (BroadcastFixture) async throws -> Void
    ) async throws {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let directory = try temporaryDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let redis = try await RedisServer.start()
        defer { redis.stop() }
        let connections = RedisClient(url: redis.url, scripts: Store.scripts, logger: logger)
        var configuration = SimulatorConfiguration(certificateDirectory: directory)
        server(&configuration)
        let simulator = try await APNsSimulator.start(configuration, logger: logger)
        let key = try #require(simulator.keys.first)
        guard case .file(let path) = key.material else { throw CocoaError(.fileNoSuchFile) }
        let store = Store(redis: connections)
        let app = try AppKey("app")
        var apns = APNsConfiguration(
            origin: simulator.url, teamID: key.teamID, keyID: key.keyID,
            keyPEM: Array(try Data(contentsOf: URL(fileURLWithPath: path))), caFile: simulator.caFile,
            requestTimeout: .seconds(60), share: FleetProviderTokens(store, app: app))
        // On a busy machine Redis's answer may take long. Without it a sender makes a token of its own.
        apns.sharePatience = .seconds(120)
        let client = try BroadcastClient(
            .libcurl, configuration: apns, manageOrigin: try #require(simulator.manageURL), bundleID: bundleID,
            logger: logger)
        let stage = BroadcastFixture(
            app: app, store: store, simulator: simulator, client: client, apns: apns, logger: logger)
        let result: Result<Void, any Error>
        do { result = .success(try await body(stage)) } catch { result = .failure(error) }
        await client.sender.close()
        await simulator.stop()
        await connections.close()
        try result.get()
    }

    var manager: BroadcastChannelManager { client.channels }
    var sender: BroadcastSender { client.sender }

    /// The client's service. A worker that stops does not close it, because a test may run several workers.
    var service: BroadcastService {
        var service = BroadcastService(client)
        service.close = {}
        return service
    }

    /// The keeper of one worker, which believes that it is `later` than now.
    func keeper(
        _ owner: String = "one", later: Duration = .zero, service: BroadcastService? = nil
    ) -> BroadcastChannelKeeper {
        let app = WorkerApp(
            key: app, bundleID: Self.bundleID, transport: NoTransport(), broadcasts: service ?? self.service)
        var keeper = BroadcastChannelKeeper(store: store, apps: [self.app: app], owner: owner, logger: logger)
        keeper.ahead = later.milliseconds
        return keeper
    }

    /// Runs a whole worker during `body`. Its tokens also go to the simulator.
    /// - Parameter live: options that a reload brings.
    func working(
        budget: HighBudget = HighBudget(), live: (inout WorkerOptions) -> Void = { _ in },
        _ body: () async throws -> Void
    ) async throws {
        let app = WorkerApp(
            key: app, bundleID: Self.bundleID,
            transport: try LaneTransport(.libcurl, configuration: apns, logger: logger),
            broadcasts: service)
        var options = WorkerOptions()
        let worker = Worker(store: store, apps: [app], options: options, logger: logger)
        options.budget = budget
        live(&options)
        worker.reload(options)
        let running = Task { try await worker.run() }
        let result: Result<Void, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        running.cancel()
        _ = await running.result
        try result.get()
    }

    var now: Int64 { store.time.now() }

    func name(_ text: String = "match-42") throws -> ActivityName { try ActivityName(text) }

    func want(_ name: ActivityName, _ storage: BroadcastStorage = .none) async throws {
        _ = try await store.broadcasts.want(app, name, storage, now: now)
    }

    func channel(_ name: ActivityName) async throws -> BroadcastChannel? {
        try await store.broadcasts.channel(app, name)
    }

    /// Waits until `isReady`, and returns the ledger.
    func ledger(_ id: PushID, until isReady: (Ledger) -> Bool = { $0.state.isFinal }) async throws -> Ledger {
        var last: Ledger?
        try await eventually("the ledger is ready: \(String(describing: last))") {
            last = try await store.pushes.ledger(app, id)
            return last.map(isReady) ?? false
        }
        return try #require(last)
    }

    /// The ids of the channels at APNs.
    var atAPNs: [String] { simulator.channels().filter { $0.deletedAt == nil }.map(\.id) }

    func set(_ change: (inout Faults) -> Void) throws {
        var faults = Faults()
        change(&faults)
        try simulator.setFaults(faults)
    }
}

/// A transport for tests that send nothing to tokens.
struct NoTransport: PushTransport {
    var requestTimeout: Duration { .seconds(10) }
    func send(
        _ page: TokenPage, _: PreparedPush, while _: any SendPermission, _: Handover?
    ) async -> PageOutcome {
        PageOutcome(accepted: page.count)
    }
    func close() async {}
}
