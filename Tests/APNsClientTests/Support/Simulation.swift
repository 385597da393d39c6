import APNsClient
import APNsSimulator
import APNsWire
import Delivery
import Foundation
import Lanes
import LiveActivity
import Logging
import TestSupport
import Testing

/// All suites that send to a server. Each test has a server of its own, so the tests run side by side.
@Suite enum TransportTests {}

/// Exit tests capture the kind.
extension TransportKind: Codable {}

/// A simulator in this process and a transport that sends to it, both for one test.
struct Simulation {
    static let bundleID = "com.example.scores"

    let simulator: APNsSimulator
    let kind: TransportKind
    let transport: LaneTransport
    let client: APNsConfiguration
    let logger: Logger
    private let directory: TemporaryDirectory

    /// Another simulator with the same directory has the same CA.
    var certificateDirectory: String { directory.path("apns") }

    static func run(
        _ kind: TransportKind = .libcurl, server: (inout SimulatorConfiguration) -> Void = { _ in },
        client: (inout APNsConfiguration) -> Void = { _ in },
        _ body: (Simulation) async throws -> Void
    ) async throws {
        var logger = Logger(label: "test")
        logger.logLevel = .error
        let directory = try TemporaryDirectory()
        var configuration = SimulatorConfiguration(certificateDirectory: directory.path("apns"))
        server(&configuration)
        let simulator = try await APNsSimulator.start(configuration, logger: logger)
        do {
            let key = try #require(simulator.keys.first)
            let pem =
                switch key.material {
                case .file(let path): Array(try Data(contentsOf: URL(fileURLWithPath: path)))
                case .pem(let text): Array(text.utf8)
                }
            var settings = APNsConfiguration(
                origin: simulator.url, teamID: key.teamID, keyID: key.keyID, keyPEM: pem, caFile: simulator.caFile)
            // Use a long timeout, so that a slow machine or a sanitizer causes no failure. Tests of
            // deadlines set their own.
            settings.requestTimeout = .seconds(60)
            client(&settings)
            let transport = try LaneTransport(kind, configuration: settings, logger: logger)
            try await body(
                Simulation(
                    simulator: simulator, kind: kind, transport: transport, client: settings, logger: logger,
                    directory: directory))
            await transport.close()
            #expect(transport.load == 0)
        } catch {
            await simulator.stop()
            throw error
        }
        await simulator.stop()
    }

    /// A push. `timestamp` tells it apart from other pushes.
    static func push(timestamp: Int = 1_790_000_000, priority: PushPriority = .high) -> PreparedPush {
        PreparedPush(
            bundleID: bundleID, priority: priority, expiration: 0,
            payload: Array(
                #"{"aps":{"timestamp":\#(timestamp),"event":"update","content-state":{"home":1,"away":0}}}"#.utf8))
    }

    /// Tokens of 80 bytes, all different. The same numbers always give the same tokens.
    static func page(_ numbers: Range<Int>) -> TokenPage {
        var page = TokenPage()
        for number in numbers {
            page.append(channel: [UInt8](repeating: 1, count: 16), token: token(number), registeredAt: 0)
        }
        return page
    }

    static func token(_ number: Int) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) } + [UInt8](repeating: 0xAB, count: 72)
    }

    /// The tokens of these numbers in hex, as the simulator's faults name them.
    static func hex(_ numbers: some Sequence<Int>) -> [String] { numbers.map { Hex.encode(token($0)) } }

    /// Waits until the simulator's record is as wanted. Fails if that takes longer than any machine should need.
    func wait(_ isWanted: (SimulatorRecord) -> Bool) async throws {
        try await eventually("the record is as wanted: \(simulator.snapshot())", every: .milliseconds(1)) {
            isWanted(simulator.snapshot())
        }
    }

    func send(_ numbers: Range<Int>, timestamp: Int = 1_790_000_000) async -> PageOutcome {
        await transport.send(Self.page(numbers), Self.push(timestamp: timestamp))
    }
}

extension PageOutcome {
    var count: Int { accepted + exceptions.count }

    /// How often each outcome occurs among the exceptions.
    var kinds: [PushOutcome: Int] { exceptions.reduce(into: [:]) { $0[$1.outcome, default: 0] += 1 } }
}

/// A TCP port of this machine, with or without a listener.
final class LoopbackPort: Sendable {
    private let socket: Int32
    let number: Int

    /// If it listens, the kernel completes connections but nothing ever answers. Otherwise connections are refused.
    init(isListening: Bool) throws { (socket, number) = try boundSocket(isListening: isListening) }

    deinit { close(socket) }

    var origin: String { "https://127.0.0.1:\(number)" }
}
