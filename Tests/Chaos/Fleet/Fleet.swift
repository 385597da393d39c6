import Curl
import Foundation
import Synchronization
import TestSupport

/// The processes of a run: Redis, simulator, gateways and workers, each the real program.
///
/// A process that ends is started again, as a supervisor would do. A process that ends by itself without a
/// reason is a finding.
final class Fleet: Sendable {
    struct Configuration: Sendable {
        var program: String
        /// The program of the old release, which gateways and workers begin with. Nil: all run `program`.
        var oldProgram: String?
        var directory: String
        var plan: Plan
        var transport: Transport
    }

    /// The workers' transport. `mixed` gives every second worker nghttp2, like a fleet during a change.
    enum Transport: String, CaseIterable, Sendable {
        case libcurl, nghttp2, mixed

        func setting(worker number: Int) -> String {
            self == .mixed ? [Self.libcurl, .nghttp2][(number - 1) % 2].rawValue : rawValue
        }
    }

    /// The size of a worker's page, the open pages of a task, and the shards of a worker. A crash can send
    /// at most these twice.
    static let page = 200
    /// A page is whole buckets of the registry, so it may hold one bucket more. A bucket is split at 128 tokens.
    static let largestPage = page + 128
    static let openPages = 4
    static let shards = 4
    static let streams = 200
    static let lanes = 2
    /// The last requests of each token and of each broadcast channel that the simulator keeps.
    static let history = 200

    /// The simulator's ports for APNs and FCM.
    let pushPorts: Set<Int>
    let controlURL: String
    let gatewayURLs: [String]
    let environment: [String: String]
    /// The settings file of gateways and workers. Nil: the environment has the only app.
    private let settings: String?
    let redis: RedisServers
    let roles: [Role]
    private let configuration: Configuration
    private let gatewayPorts: [Int]
    /// Machine clocks of the processes whose clocks the run sets.
    private let clocks: [Role: TestClock]
    private let log: EventLog
    private let members: Mutex<[Role: Member]>
    /// The program that gateways and workers run when they start next. Absent: `program`.
    private let releases: Mutex<[Role: UpgradeOrder.Release]>

    private struct Member {
        var program: Program
        var starts: Int
        /// The run itself ends the process, so its end is no finding.
        var isMeant = false
    }

    init(_ configuration: Configuration, log: EventLog) async throws {
        self.configuration = configuration
        self.log = log
        let directory = configuration.directory
        try FileManager.default.createDirectory(atPath: directory + "/logs", withIntermediateDirectories: true)
        redis = try RedisServers(configuration.plan, directory: directory)
        roles =
            redis.roles + [.simulator] + (1...Plan.gateways).map { .gateway($0) }
            + (1...Plan.workers).map { .worker($0) }
        let simulator = try Program(
            [
                configuration.program, "simulate", "--json", "--port", "0", "--control-port", "0", "--directory",
                directory + "/apns", "--seed", "\(configuration.plan.seed)", "--order-member", "n", "--history",
                "\(Self.history)", "--streams", "\(Self.streams)",
            ], directory: directory + "/logs", environment: [:], name: "simulator")
        try await eventually("the simulator listens") { simulator.out.hasSuffix("}\n") }
        let announced = try JSONSerialization.jsonObject(with: Data(simulator.out.utf8)) as? [String: String] ?? [:]
        controlURL = (announced["control_url"] ?? "") + "/simulator"
        pushPorts = Set(
            ["url", "fcm_url"].compactMap { announced[$0]?.split(separator: ":").last.flatMap { Int($0) } })
        gatewayPorts = try (0..<Plan.gateways).map { _ in try freePort() }
        gatewayURLs = gatewayPorts.map { "http://127.0.0.1:\($0)" }
        environment = [
            "LAMPLIGHTER_APP_KEY": Gateways.app, "LAMPLIGHTER_APP_SECRET": Gateways.secret,
            "LAMPLIGHTER_APP_MASTER_SECRET": Gateways.masterSecret, "LAMPLIGHTER_APP_BUNDLE_ID": "com.example.chaos",
            "LAMPLIGHTER_APNS_URL": announced["url"] ?? "",
            "LAMPLIGHTER_APNS_MANAGE_URL": announced["manage_url"] ?? "",
            "LAMPLIGHTER_APNS_CA_FILE": announced["ca_file"] ?? "",
            "LAMPLIGHTER_APNS_KEY_FILE": announced["key_file"] ?? "",
            "LAMPLIGHTER_APNS_KEY_ID": announced["key_id"] ?? "",
            "LAMPLIGHTER_APNS_TEAM_ID": announced["team_id"] ?? "",
            "LAMPLIGHTER_WORKER_LANES": "\(Self.lanes)", "LAMPLIGHTER_WORKER_PAGE": "\(Self.page)",
            "LAMPLIGHTER_WORKER_CLAIM_AFTER": "\(Plan.claimAfter)ms",
            "LAMPLIGHTER_WORKER_REQUEST_TIMEOUT": "\(Plan.requestTimeout)ms", "LAMPLIGHTER_LOG_LEVEL": "debug",
            "LAMPLIGHTER_DELIVERY_MAX_PER_SECOND": "\(configuration.plan.cap ?? 0)",
            "LAMPLIGHTER_EVENTS_KEEP": configuration.plan.hasEvents ? "10000000" : "0",
        ].merging(redis.environment) { own, _ in own }
        settings = try configuration.plan.android.map { _ in
            let path = directory + "/lamplighter.yaml"
            try AndroidRun.settings(announced).write(toFile: path, atomically: false, encoding: .utf8)
            return path
        }
        let actions = configuration.plan.actions
        let stepped =
            (actions.contains(.processClocks) ? roles.filter(\.isOurs) : [])
            + (configuration.plan.stepsRedisClocks ? redis.dataRoles : [])
        clocks = Dictionary(uniqueKeysWithValues: try stepped.map { ($0, try TestClock()) })
        members = Mutex([.simulator: Member(program: simulator, starts: 1)])
        let begin: UpgradeOrder.Release = configuration.oldProgram == nil ? .new : .old
        releases = Mutex(Dictionary(uniqueKeysWithValues: roles.map { ($0, begin) }))
    }

    /// The process runs this release from its next start on.
    func use(_ release: UpgradeOrder.Release, _ role: Role) { releases.withLock { $0[role] = release } }

    private func path(_ role: Role) -> String {
        let isOld = releases.withLock { $0[role] } == .old
        return isOld ? configuration.oldProgram ?? configuration.program : configuration.program
    }

    /// - Returns: how far the clock went forward
    func setClock(_ role: Role, ahead: Duration) -> Duration {
        guard let clock = clocks[role] else { return .zero }
        let before = clock.ahead
        clock.set(ahead: ahead)
        return ahead - before
    }

    func program(_ role: Role) -> Program? { members.withLock { $0[role]?.program } }

    private var files: [String] { settings.map { ["--config", $0] } ?? [] }

    private func command(_ role: Role) -> [String] {
        switch role {
        case .redis, .node, .server, .sentinel: redis.command(role)
        case .simulator: []
        case .gateway(let number): [path(role), "serve", "--port", "\(gatewayPorts[number - 1])"] + files
        case .worker: [path(role), "work", "--name", "\(role)"] + files
        }
    }

    func startAll() async throws {
        for role in redis.roles { try start(role) }
        try await redis.form()
        for role in roles where role != .simulator && !redis.roles.contains(role) { try start(role) }
    }

    /// Starts the process, whatever happened to the previous one.
    func start(_ role: Role) throws {
        let starts = members.withLock { ($0[role]?.starts ?? 0) + 1 }
        var environment = environment
        if case .worker(let number) = role {
            environment["LAMPLIGHTER_WORKER_TRANSPORT"] = configuration.transport.setting(worker: number)
        }
        if let clock = clocks[role] { environment.merge(clock.environment) { $1 } }
        let program = try Program(
            command(role), directory: configuration.directory + "/logs", environment: environment,
            name: "\(role).\(starts)")
        members.withLock { $0[role] = Member(program: program, starts: starts) }
        log.note("\(role) started (\(starts))")
    }

    func signal(_ role: Role, _ number: Int32) {
        members.withLock { members in
            if number == SIGKILL || number == SIGTERM { members[role]?.isMeant = true }
            members[role]?.program.signal(number)
        }
    }

    /// Restarts processes that ended by themselves, until cancelled. A process that cannot reach Redis at its start
    /// ends with 69. While Redis is down, its port may be taken by another process for a moment.
    func supervise(_ found: Findings) async {
        await withDiscardingTaskGroup { group in
            for role in roles where role != .simulator {
                group.addTask {
                    while !Task.isCancelled {
                        let current = self.members.withLock { $0[role] }
                        if let current, !current.isMeant, let end = await current.program.end(within: .seconds(1)),
                            self.members.withLock({ $0[role]?.starts == current.starts && $0[role]?.isMeant == false })
                        {
                            self.log.note("\(role) ended by itself with \(end.code)")
                            if end.code != 69, !end.out.contains("Address already in use") {
                                found.note(
                                    .crashed, "\(role).\(current.starts) ended with \(end.code): \(end.err.suffix(400))"
                                )
                            }
                            try? self.start(role)
                        } else {
                            try? await Task.sleep(for: .milliseconds(200))
                        }
                    }
                }
            }
        }
    }

    func waitUntilReady(within limit: Duration = .seconds(60)) async throws {
        for url in gatewayURLs {
            try await eventually("a gateway is ready", within: limit) {
                let response = try? await HTTPClient().send(HTTPRequest("GET", url + "/readyz", timeout: .seconds(2)))
                return response?.status == 200
            }
        }
        for number in 1...Plan.workers {
            try await eventually("worker \(number) is ready", within: limit) {
                program(.worker(number))?.err.contains("ready for work") == true
            }
        }
    }

    /// Ends all processes. Workers and gateways are stopped like an operator does, and that must work.
    func shutDown(_ found: Findings) async {
        for role in roles.reversed() {
            guard let program = program(role) else { continue }
            signal(role, SIGCONT)
            // Redis inherits the signal mask of a thread of Swift's pool, which blocks SIGTERM.
            guard !redis.roles.contains(role) else {
                program.kill()
                continue
            }
            signal(role, SIGTERM)
            guard let end = await program.end(within: .seconds(30)) else {
                found.note(.crashed, "\(role) did not end within 30 s of SIGTERM")
                program.kill()
                continue
            }
            if end.code != 0 { found.note(.crashed, "\(role) ended SIGTERM with \(end.code): \(end.err.suffix(400))") }
        }
    }

    /// Kills all processes at once, whatever their state.
    func kill() { for role in roles { program(role)?.kill() } }
}
