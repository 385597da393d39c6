import Curl
import Foundation
import TestSupport

/// A deployment of one app, as an operator starts it: Redis, simulator, gateway and workers, each as a process.
final class Deployment: Sendable {
    let directory: String
    let redis: RedisServer
    let simulator: Program
    let gateway: Program
    let gatewayURL: String
    let controlURL: String
    let environment: [String: String]

    /// The output of `lamplighter simulate --json`.
    typealias Announcement = [String: String]

    /// Starts a deployment.
    ///
    /// - Parameters:
    ///   - flags: further flags of `lamplighter simulate`.
    ///   - platforms: of the app in the environment.
    ///   - append: whether Redis writes an append-only file.
    ///   - extra: further environment variables of every process.
    ///   - apps: the list of apps for a configuration file, instead of the one app in the environment.
    ///   - clock: Redis's.
    static func start(
        simulator flags: [String] = [], append: Bool = false, platforms: Set<String> = ["ios"],
        environment extra: [String: String] = [:], clock: TestClock? = nil, apps: ((Announcement) -> String)? = nil
    ) async throws -> Deployment {
        try await Deployment(
            simulator: flags, append: append, platforms, environment: extra, clock: clock, apps: apps)
    }

    private init(
        simulator flags: [String], append: Bool, _ platforms: Set<String>, environment extra: [String: String],
        clock: TestClock?, apps: ((Announcement) -> String)?
    ) async throws {
        directory = try temporaryDirectory()
        redis = try await RedisServer.start(append: append, clock: clock)
        let base = [Program.path, "simulate", "--json", "--port", "0", "--directory", directory + "/apns"]
        let simulator = try Program(base + flags, directory: directory, environment: [:])
        self.simulator = simulator
        let announced = try await Self.announcement(simulator)
        controlURL = announced["control_url"] ?? ""
        // A worker sends twice if it loses a lease or gets an answer late. A busy machine must cause neither, so tests
        // that need a short lease or a short time limit set their own.
        var environment = [
            "LAMPLIGHTER_REDIS_URL": "\(redis.url)", "LAMPLIGHTER_WORKER_CLAIM_AFTER": "30s",
            "LAMPLIGHTER_WORKER_REQUEST_TIMEOUT": "60s",
        ].merging(extra) { _, own in own }
        if let apps {
            let file = directory + "/lamplighter.yaml"
            try apps(announced).write(toFile: file, atomically: false, encoding: .utf8)
            environment["LAMPLIGHTER_CONFIG"] = file
        } else {
            environment = Self.shop(announced, platforms).merging(environment) { _, own in own }
        }
        let gateway = try Program(
            [Program.path, "serve", "--port", "0"], directory: directory, environment: environment)
        self.gateway = gateway
        try await gateway.waitForLog("listening")
        gatewayURL = gateway.err.firstMatch(of: /listening.*url=(http\S+)/).map { String($0.1) } ?? ""
        environment["LAMPLIGHTER_GATEWAY_URL"] = gatewayURL
        self.environment = environment
    }

    static func announcement(_ simulator: Program) async throws -> Announcement {
        try await eventually("the simulator listens") { simulator.out.hasSuffix("}\n") }
        return try JSONSerialization.jsonObject(with: Data(simulator.out.utf8)) as? Announcement ?? [:]
    }

    /// One app, configured only by the environment.
    private static func shop(_ announced: Announcement, _ platforms: Set<String>) -> [String: String] {
        let app = [
            "LAMPLIGHTER_APP_KEY": "shop", "LAMPLIGHTER_APP_SECRET": "shop-secret",
            "LAMPLIGHTER_APP_MASTER_SECRET": "shop-master",
        ]
        let fcm = [
            "LAMPLIGHTER_FCM_URL": announced["fcm_url"] ?? "",
            "LAMPLIGHTER_FCM_SERVICE_ACCOUNT_FILE": announced["fcm_service_account_file"] ?? "",
            "LAMPLIGHTER_FCM_CA_FILE": announced["ca_file"] ?? "",
        ]
        let apns = [
            "LAMPLIGHTER_APP_BUNDLE_ID": "com.example.shop",
            "LAMPLIGHTER_APNS_URL": announced["url"] ?? "", "LAMPLIGHTER_APNS_CA_FILE": announced["ca_file"] ?? "",
            "LAMPLIGHTER_APNS_KEY_FILE": announced["key_file"] ?? "",
            "LAMPLIGHTER_APNS_KEY_ID": announced["key_id"] ?? "",
            "LAMPLIGHTER_APNS_TEAM_ID": announced["team_id"] ?? "",
            "LAMPLIGHTER_APNS_MANAGE_URL": announced["manage_url"] ?? "",
        ]
        return app.merging(platforms.contains("ios") ? apns : [:]) { $1 }
            .merging(platforms.contains("android") ? fcm : [:]) { $1 }
    }

    deinit {
        for program in [gateway, simulator] { program.kill() }
        redis.stop()
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Starts a worker and waits until it is ready.
    func worker(_ name: String, _ extra: [String: String] = [:]) async throws -> Program {
        let program = try Program(
            [Program.path, "work", "--name", name], directory: directory,
            environment: environment.merging(extra) { _, own in own })
        try await program.waitForLog("ready for work")
        return program
    }

    /// Runs one command to its end.
    func run(_ arguments: String..., environment extra: [String: String] = [:]) async throws -> Program.Output {
        try await run(arguments, environment: extra)
    }

    func run(_ arguments: [String], environment extra: [String: String] = [:]) async throws -> Program.Output {
        let program = try Program(
            [Program.path] + arguments, directory: directory, environment: environment.merging(extra) { _, own in own })
        return try await output(of: program, "\(arguments)")
    }

    /// The limit only ends a wait that would never succeed.
    private func output(of program: Program, _ what: String) async throws -> Program.Output {
        guard let output = await program.end(within: .seconds(600)) else {
            throw NeverHappened(description: "the end of \(what)")
        }
        return output
    }

    /// Runs a command as the documentation shows it.
    func shell(_ command: String) async throws -> Program.Output {
        let tools = URL(fileURLWithPath: Program.path).deletingLastPathComponent().path
        let path = "\(tools):\(ProcessInfo.processInfo.environment["PATH"] ?? "")"
        let program = try Program(
            ["/bin/sh", "-c", command], directory: directory, environment: environment.merging(["PATH": path]) { $1 })
        return try await output(of: program, command)
    }

    /// Registers the channels `0..<count` under a name in bulk. The token of each is made from its number.
    func importChannels(_ count: Int, name: String) async throws -> Program.Output {
        let lines = (0..<count).map { #"{"channel":"\#(Self.channel($0))","token":"\#(Self.token($0))"}"# + "\n" }
        let path = directory + "/channels-\(name).ndjson"
        try lines.joined().write(toFile: path, atomically: false, encoding: .utf8)
        return try await run("import", path, "--name", name, "--json")
    }

    static func channel(_ number: Int) -> String { "00000000-0000-4000-8000-" + text(of: hex(number, digits: 12)) }

    /// Makes 80 bytes that differ not only at their end, like real tokens.
    static func token(_ number: Int) -> String {
        var state = UInt64(number) &* 0x9E37_79B9_7F4A_7C15 &+ 1
        var bytes: [UInt8] = []
        bytes.reserveCapacity(160)
        for _ in 0..<10 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            bytes += hex(Int(state >> 1), digits: 16)
        }
        return text(of: bytes)
    }

    private static func text(of bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    private static let digits = Array("0123456789abcdef".utf8)

    /// Written by hand, because `String(_:radix:)` with padding takes a debug build ten seconds for 100,000 tokens.
    private static func hex(_ number: Int, digits count: Int) -> [UInt8] {
        let digits = digits
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            var rest = number
            for place in stride(from: count - 1, through: 0, by: -1) {
                buffer[place] = digits[rest & 15]
                rest >>= 4
            }
            initialized = count
        }
    }

    /// Calls the gateway or the simulator's control interface once.
    func call(
        _ method: String, _ url: String, user: String? = "shop:shop-master", body: String? = nil,
        headers more: [(String, String)] = []
    ) async throws -> (status: Int, json: [String: Any], text: String) {
        var headers = [("Content-Type", "application/json")] + more
        if let user { headers.append(("Authorization", "Basic " + Data(user.utf8).base64EncodedString())) }
        let response = try await HTTPClient().send(
            HTTPRequest(method, url, headers: headers, body: body.map { .bytes(Array($0.utf8)) }))
        let json = (try? JSONSerialization.jsonObject(with: Data(response.body))) as? [String: Any] ?? [:]
        return (response.status, json, String(decoding: response.body, as: UTF8.self))
    }

    /// The simulator's totals.
    func record() async throws -> [String: Any] {
        try await call("GET", controlURL + "/simulator/record", user: nil).json
    }

    /// Everything that one token received.
    func received(_ token: String) async throws -> [String: Any] {
        try await call("GET", controlURL + "/simulator/tokens/" + token, user: nil).json
    }
}
