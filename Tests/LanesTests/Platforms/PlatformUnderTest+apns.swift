import APNsClient
import APNsSimulator
import APNsWire
import Delivery
import Foundation
import Lanes
import LiveActivity
import Logging
import OpenSSL
import TestSupport
import Testing

extension PlatformUnderTest {
    /// APNs's simulator.
    static let apns = PlatformUnderTest(name: "APNs") { kind, setup, body in
        var logger = Logger(label: "test")
        logger.logLevel = .error
        let directory = try TemporaryDirectory()
        let pem = try P256SigningKey.generatePEM()
        var server = SimulatorConfiguration(certificateDirectory: directory.path("apns"))
        server.streams = setup.streams
        server.keys = [
            ProviderKey(keyID: "KEY1234567", teamID: "TEAM123456", material: .pem(String(decoding: pem, as: UTF8.self)))
        ]
        server.faults = simulated(setup.faults)
        let simulator = try await APNsSimulator.start(server, logger: logger)
        do {
            var client = APNsConfiguration(
                origin: simulator.url, teamID: "TEAM123456", keyID: "KEY1234567", keyPEM: pem,
                caFile: simulator.caFile, requestTimeout: setup.requestTimeout)
            client.lanes = setup.lanes
            let transport = try LaneTransport(kind, configuration: client, logger: logger)
            try await body(running(simulator, transport))
            await transport.close()
        } catch {
            await simulator.stop()
            throw error
        }
        await simulator.stop()
    }

    private static func running(_ simulator: APNsSimulator, _ transport: LaneTransport) -> RunningPlatform {
        RunningPlatform(
            transport: transport,
            push: { number in
                PreparedPush(
                    bundleID: "com.example.scores", priority: .high, expiration: 0,
                    payload: Array(
                        #"{"aps":{"timestamp":\#(1_790_000_000 + number),"event":"update","content-state":{"a":1}}}"#
                            .utf8))
            },
            address: token,
            record: {
                let record = simulator.snapshot()
                return PlatformRecord(
                    requests: record.requests, accepted: record.accepted, duplicates: record.duplicates,
                    refusedCredentials: record.byReason["ExpiredProviderToken"] ?? 0,
                    maximumInFlight: record.maximumInFlight, goaways: record.goaways)
            },
            setFaults: { try simulator.setFaults(simulated($0)) }, deadVerdict: .pruneIfOlder, tooManyVerdict: .retry,
            secrets: { (0..<3).map { Hex.encode(token($0)) } })
    }

    private static func token(_ number: Int) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) } + [UInt8](repeating: 0xAB, count: 72)
    }

    private static func simulated(_ faults: PlatformFaults) -> Faults {
        Faults(faults, dead: { DeadToken(prefix: $0) }, address: { Hex.encode(token($0)) }) { refusal in
            switch refusal {
            case .tooMany: "TooManyRequests"
            case .unavailable: "ServiceUnavailable"
            case .credential: "InvalidProviderToken"
            case .push: "BadTopic"
            }
        }
    }
}

extension Faults {
    /// A platform's faults, for its simulator.
    /// - Parameters:
    ///   - dead: the fault of a dead address
    ///   - address: of a number, as the simulator writes it
    ///   - reason: for a refusal, in the simulator's words
    init(
        _ faults: PlatformFaults, dead: (String) -> DeadToken, address: (Int) -> String,
        reason: (PlatformRefusal) -> String
    ) {
        self.init()
        deadTokens = faults.dead.map { dead(address($0)) }
        stallTokens = faults.silent.map(address)
        slowTokens = faults.slow.map(address)
        slowTokenLatency = Double(PlatformFaults.slowMilliseconds)
        latency = Double(faults.latency)
        rejectAll = faults.refusal.map(reason)
        retryAfter = faults.retryAfter
        goawayAfter = faults.goawayAfter
        if faults.expiresCredential { expireNext = 1 }
    }
}
