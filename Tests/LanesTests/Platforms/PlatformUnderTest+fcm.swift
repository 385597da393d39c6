import APNsSimulator
import Delivery
import FCMClient
import FCMWire
import Foundation
import Lanes
import LiveActivity
import Logging
import TestSupport
import Testing

extension PlatformUnderTest {
    /// The simulator's FCM, with its token endpoint.
    static let fcm = PlatformUnderTest(name: "FCM") { kind, setup, body in
        try await withFCM(kind, setup) { simulator, transport, project in
            try await body(running(simulator, transport, project: project))
        }
    }

    static func withFCM(
        _ kind: TransportKind, _ setup: Setup,
        _ body: (APNsSimulator, LaneTransport, _ project: String) async throws -> Void
    ) async throws {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let directory = try TemporaryDirectory()
        var server = SimulatorConfiguration(certificateDirectory: directory.path("fcm"))
        server.managePort = nil
        var fcm = FCMConfiguration()
        fcm.streams = setup.streams
        fcm.faults = simulated(setup.faults)
        server.fcm = fcm
        let simulator = try await APNsSimulator.start(server, logger: logger)
        do {
            let file = try #require(simulator.serviceAccountFile)
            let json = Array(try Data(contentsOf: URL(fileURLWithPath: file)))
            var client = FCMClientConfiguration(
                origin: try #require(simulator.fcmURL),
                accounts: LiveServiceAccount(try ServiceAccount(json: json)), caFile: simulator.caFile,
                lanes: setup.lanes, requestTimeout: setup.requestTimeout)
            client.app = "shop"
            let transport = try LaneTransport(kind, configuration: client, logger: logger)
            try await body(simulator, transport, client.accounts.current.projectID)
            await transport.close()
        } catch {
            await simulator.stop()
            throw error
        }
        await simulator.stop()
    }

    private static func running(
        _ simulator: APNsSimulator, _ transport: LaneTransport, project: String
    ) -> RunningPlatform {
        RunningPlatform(
            transport: transport,
            push: { number in
                let id = PushID(UUIDBytes(high: 0x0190_a1b2_c3d4_7000, low: 1 << 63 | UInt64(number)))
                let content = FCMContent(
                    pushID: id, name: try! ActivityName("match-42"), event: .update,
                    timestamp: 1_795_284_000 + number, contentState: RawJSON(checked: #"{"a":1}"#), timeToLive: 900)
                return FCMMessage.render(content, project: project)
            },
            address: { address($0).stored },
            record: {
                let record = simulator.fcmSnapshot()
                return PlatformRecord(
                    requests: record.requests, accepted: record.accepted, duplicates: record.duplicates,
                    refusedCredentials: record.byReason["UNAUTHENTICATED"] ?? 0,
                    maximumInFlight: record.maximumInFlight, goaways: record.goaways)
            },
            setFaults: { try simulator.setFCMFaults(simulated($0)) }, deadVerdict: .pruneIfOlder,
            tooManyVerdict: .pauseApp, secrets: { (0..<3).map { address($0).text } })
    }

    private static func address(_ number: Int) -> AndroidAddress {
        let digits = String(number + 100_000_000)
        return try! AndroidAddress(.token, "c\(digits)abcdefghijklm:APA91b" + String(repeating: "Zz0-_", count: 24))
    }

    private static func simulated(_ faults: PlatformFaults) -> Faults {
        Faults(
            faults, dead: { DeadToken(prefix: $0, reason: "UNREGISTERED") }, address: { address($0).text }
        ) { refusal in
            switch refusal {
            case .tooMany: "QUOTA_EXCEEDED"
            case .unavailable: "UNAVAILABLE"
            case .credential: "PERMISSION_DENIED"
            case .push: "INVALID_PAYLOAD"
            }
        }
    }
}
