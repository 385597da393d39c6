import APNsClient
import APNsWire
import ArgumentParser
import Delivery
import Fanout
import Foundation
import LiveActivity
import Logging
import Redis
import Store
import Synchronization

/// The process of `bin/bench expand`: a whole worker whose lanes take each page and send nothing. Measures what lies
/// between Redis and the lanes: reading, the audience, settling. Prints one line of JSON.
@main
struct Expand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "expand")

    @Option(help: "redis.url") var redis: String
    @Option(help: "redis.ca_file") var redisCaFile: String?
    @Option var app = "bench"
    @Option(help: "Name that has the tokens.") var name: String
    @Option(help: "How many tokens are read by a push.") var tokens: Int
    @Option(help: "How many of them are in the audience.") var audience: Int
    @Flag(help: "(gold or silver) and not muted, in place of everyone.") var tagged = false
    @Option(help: "Pushes that are measured.") var pushes = 3

    func run() async throws {
        let app = try AppKey(app)
        let name = try ActivityName(name)
        var logger = Logger(label: "bench")
        logger.logLevel = .warning
        var redisOptions = RedisOptions()
        redisOptions.tls.roots = redisCaFile
        let client = RedisClient(
            url: try RedisURL(redis), scripts: Store.scripts, options: redisOptions, logger: logger)
        let store = Store(redis: client)
        let lanes = NoLanes()
        let worker = Worker(
            store: store, apps: [WorkerApp(key: app, bundleID: "com.example.scores", transport: lanes)],
            options: WorkerOptions(name: "bench"), logger: logger)
        Task { try await worker.run() }
        // The first finds connections to make and scripts to load.
        try await push(app, name, store)
        let before = (server: try await Self.serverCPU(client), own: CPUTime.now, clock: ContinuousClock.now)
        for _ in 0..<pushes { try await push(app, name, store) }
        let seconds = (ContinuousClock.now - before.clock) / .seconds(1)
        let own = CPUTime.now - before.own
        let server = try await Self.serverCPU(client) - before.server
        let read = Double(tokens * pushes)
        print(
            String(
                format: #"{"tokens":%d,"taken":%d,"seconds":%.3f,"cpu_us":%.4f,"redis_us":%.4f}"#, tokens, audience,
                seconds / Double(pushes), own * 1e6 / read, server * 1e6 / read))
        // The worker holds nothing that another would miss.
        Foundation.exit(lanes.taken == audience * (pushes + 1) ? 0 : 1)
    }

    /// From its commit to its last settlement.
    private func push(_ app: AppKey, _ name: ActivityName, _ store: Store) async throws {
        let publish = Publish(
            name: name, event: .update,
            audience: tagged
                ? .and([
                    .or([.tag("gold", group: "bench"), .tag("silver", group: "bench")]),
                    .not(.tag("muted", group: "bench")),
                ]) : .all, options: PublishOptions(conflate: false))
        let payload = #"{"aps":{"timestamp":1790000000,"event":"update","content-state":{"home":3,"away":1}}}"#
        let id = PushID.random()
        let answer = try await store.pushes.accept(
            app, publish, id: id, payload: Array(payload.utf8), timestampOffset: 20)
        guard case .accepted = answer else { throw ValidationError("the publish was refused: \(answer)") }
        while true {
            if let ledger = try await store.pushes.ledger(app, id), ledger.state.isFinal {
                guard ledger.delivered == audience else {
                    throw ValidationError("\(ledger.delivered) of \(audience) came to the lanes")
                }
                return
            }
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    /// User and system seconds of Redis.
    private static func serverCPU(_ client: RedisClient) async throws -> Double {
        let text = try await client.send(RedisCommand("INFO", ["cpu"])).string()
        return text.split(whereSeparator: \.isNewline).reduce(0) { sum, line in
            let parts = line.split(separator: ":")
            guard parts.count == 2, ["used_cpu_sys", "used_cpu_user"].contains(parts[0]) else { return sum }
            return sum + (Double(parts[1]) ?? 0)
        }
    }
}

/// Takes pages as lanes do.
final class NoLanes: PushTransport {
    private let count = Atomic(0)
    var taken: Int { count.load(ordering: .relaxed) }
    var requestTimeout: Duration { .seconds(10) }

    func send(
        _ page: TokenPage, _ push: PreparedPush, while permission: any SendPermission, _ handover: Handover?
    ) async -> PageOutcome {
        count.add(page.count, ordering: .relaxed)
        return PageOutcome(accepted: page.count)
    }

    func close() async {}
}

enum CPUTime {
    /// User and system seconds of this process.
    static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }
}
