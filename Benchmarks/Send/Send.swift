import APNsClient
import APNsSimulator
import APNsWire
public import ArgumentParser
import Delivery
import Foundation
public import Lanes
import LiveActivity
import Logging
import OpenSSL

/// The runs of `bin/bench send`, `dead` and `interop`: the lanes as a worker uses them, and the server they send to.
/// Each call measures one run and prints one line of JSON. `gateway` and `worker` are the bare pipeline of `bin/bench
/// small`.
@main
struct Send: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        subcommands: [Simulate.self, Token.self, Run.self, Deliver.self, BareGateway.self, BareWorker.self])
}

/// The simulator's fast mode, in a process of its own, until stdin ends.
struct Simulate: AsyncParsableCommand {
    @Option var directory: String
    @Option var streams = 1_000
    @Option(help: "Milliseconds before each answer.") var latency = 0.0
    @Option(help: "Share of tokens that are dead.") var deadShare = 0.0
    @Flag(help: "A rejection lowers the stream limit to 1, the next acceptance restores it.") var drop = false

    private static var quiet: Logger {
        var logger = Logger(label: "simulator")
        logger.logLevel = .warning
        return logger
    }

    func run() async throws {
        var configuration = SimulatorConfiguration(certificateDirectory: directory)
        configuration.fast = true
        configuration.streams = streams
        configuration.faults.latency = latency
        configuration.faults.deadShare = deadShare
        configuration.faults.settingsDropOnRejection = drop
        configuration.controlPort = nil
        let simulator = try await APNsSimulator.start(configuration, logger: Self.quiet)
        guard let key = simulator.keys.first, case .file(let path) = key.material else { throw ExitCode(1) }
        FileHandle.standardOutput.write(
            Data("\(simulator.port) \(simulator.caFile) \(path) \(key.keyID) \(key.teamID)\n".utf8))
        while readLine() != nil {}
        await simulator.stop()
    }
}

/// A provider token for the loops in C.
struct Token: ParsableCommand {
    @OptionGroup var key: KeyOptions

    func run() throws {
        let signing = try P256SigningKey(pem: Array(try Data(contentsOf: URL(fileURLWithPath: key.keyFile))))
        let header = Base64.encodeURL(#"{"alg":"ES256","kid":"\#(key.keyID)"}"#.utf8)
        let claims = Base64.encodeURL(#"{"iss":"\#(key.teamID)","iat":\#(time(nil))}"#.utf8)
        print("\(header).\(claims).\(Base64.encodeURL(try signing.es256(Array("\(header).\(claims)".utf8))))")
    }
}

struct KeyOptions: ParsableArguments {
    @Option var keyFile: String
    @Option(name: .customLong("key-id")) var keyID: String
    @Option(name: .customLong("team-id")) var teamID: String
}

extension TransportKind: ExpressibleByArgument {}

/// Sends `requests` to different tokens of 80 bytes, through one lane if nothing else is said.
struct Run: AsyncParsableCommand {
    @OptionGroup var key: KeyOptions
    @Option var transport: TransportKind
    @Option var port: Int
    @Option var caFile: String
    @Option var bodyFile: String
    @Option var requests: Int
    @Option var inFlight: Int
    @Option var lanes = 1
    @Option(help: "Requests before the clock runs.") var warmUp = 2_000
    @Flag(help: "Rejected tokens are no failure.") var dead = false

    static let pageSize = 1_000
    /// Pages in the lane at once, so that it never waits for the next.
    private static let pagesAtOnce = 4

    func run() async throws {
        var configuration = APNsConfiguration(
            origin: "https://127.0.0.1:\(port)", teamID: key.teamID, keyID: key.keyID,
            keyPEM: Array(try Data(contentsOf: URL(fileURLWithPath: key.keyFile))), caFile: caFile)
        configuration.maximumStreams = inFlight
        configuration.lanes = lanes
        let logger = Logger(label: "bench")
        let sender = try LaneTransport(transport, configuration: configuration, logger: logger)
        let push = PreparedPush(
            bundleID: "com.example.scores", priority: .high, expiration: 0,
            payload: Array(try Data(contentsOf: URL(fileURLWithPath: bodyFile))))
        // Handshake, stream limit, first allocations.
        _ = await send(Self.pages(1 << 40, warmUp), push, sender)
        let pages = Self.pages(0, requests)
        let (cpu, start) = (CPUTime.now, ContinuousClock.now)
        let failed = await send(pages, push, sender)
        let (used, seconds) = (CPUTime.now - cpu, (ContinuousClock.now - start) / .seconds(1))
        await sender.close()
        print(
            String(
                format: #"{"requests":%d,"failed":%d,"seconds":%.3f,"cpu_us":%.3f}"#, requests, failed, seconds,
                used * 1e6 / Double(requests)))
        if failed > 0 { throw ExitCode(1) }
    }

    private static func pages(_ first: Int, _ count: Int) -> [TokenPage] {
        stride(from: first, to: first + count, by: pageSize).map { page($0..<min($0 + pageSize, first + count)) }
    }

    /// Tokens that begin with these numbers, lowest byte first.
    static func page(_ numbers: some Collection<Int>) -> TokenPage {
        let rest = [UInt8](repeating: 0xAB, count: 72)
        let channel = [UInt8](repeating: 1, count: 16)
        var page = TokenPage(reservingEntries: numbers.count, bytes: 96 * numbers.count)
        for number in numbers {
            page.append(
                channel: channel, token: (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) } + rest,
                registeredAt: 0)
        }
        return page
    }

    /// How many were not accepted.
    private func send(_ pages: [TokenPage], _ push: PreparedPush, _ sender: any PushTransport) async
        -> Int
    {
        await withTaskGroup(of: Int.self) { [dead] group in
            for first in 0..<Self.pagesAtOnce {
                group.addTask {
                    var failed = 0
                    for index in stride(from: first, to: pages.count, by: Self.pagesAtOnce) {
                        let outcome = await sender.send(pages[index], push)
                        failed += outcome.exceptions.count { !dead || !$0.outcome.isRejected }
                    }
                    return failed
                }
            }
            return await group.reduce(0, +)
        }
    }
}

extension PushOutcome {
    var isRejected: Bool { if case .rejected = self { true } else { false } }
}

enum CPUTime {
    /// User and system seconds of this process.
    static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }
}
