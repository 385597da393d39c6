import APNsSimulator
import Foundation
import Logging
import TestSupport
import Testing

@testable import FCMClient

/// The findings of `doctor`, with the simulator's FCM and token endpoint.
@Suite struct FCMProbeTests {
    private func withSimulator(_ body: (APNsSimulator, FCMClientConfiguration) async throws -> Void) async throws {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let directory = try TemporaryDirectory()
        var server = SimulatorConfiguration(certificateDirectory: directory.path("fcm"))
        server.managePort = nil
        server.fcm = FCMConfiguration()
        let simulator = try await APNsSimulator.start(server, logger: logger)
        let result: Result<Void, any Error>
        do {
            let json = Array(try Data(contentsOf: URL(fileURLWithPath: try #require(simulator.serviceAccountFile))))
            result = .success(
                try await body(
                    simulator,
                    FCMClientConfiguration(
                        origin: try #require(simulator.fcmURL),
                        accounts: LiveServiceAccount(try ServiceAccount(json: json)), caFile: simulator.caFile,
                        requestTimeout: .seconds(60))))
        } catch { result = .failure(error) }
        await simulator.stop()
        try result.get()
    }

    private func problem(_ configuration: FCMClientConfiguration) async -> FCMProbeError? {
        do throws(FCMProbeError) {
            try await FCMProbe(configuration).check()
            return nil
        } catch { return error }
    }

    @Test func `an account that may send passes, and nothing reaches a device`() async throws {
        try await withSimulator { simulator, configuration in
            #expect(await problem(configuration) == nil)
            let record = simulator.fcmSnapshot()
            #expect(record.tokenRequests == 1 && record.requests == 1 && record.validated == 1 && record.shown == 0)
        }
    }

    @Test(
        arguments: [
            ("UNREGISTERED", nil), ("INVALID_TOKEN", nil), ("PERMISSION_DENIED", .refused), ("UNAVAILABLE", .busy),
            ("QUOTA_EXCEEDED", .busy), ("NOT_FOUND", .refused), ("NOT_JSON", .busy),
        ] as [(String, FCMProbeError.Problem?)])
    func `each answer of FCM is a finding`(_ reason: String, _ expected: FCMProbeError.Problem?) async throws {
        try await withSimulator { simulator, configuration in
            var faults = Faults()
            faults.rejectAll = reason
            try simulator.setFCMFaults(faults)
            let found = await problem(configuration)
            #expect(found?.problem == expected, "\(String(describing: found))")
        }
    }

    @Test func `an account that Google does not know is named with the reason`() async throws {
        try await withSimulator { simulator, configuration in
            var faults = Faults()
            for (error, words, expected) in [
                ("invalid_signature", "make another key file", .refused), ("clock", "clock of this machine", .refused),
                ("not_json", "answered 503", .unreachable), ("unavailable", "answered 503", .unreachable),
            ] as [(String, String, FCMProbeError.Problem)] {
                faults.tokenError = error
                try simulator.setFCMFaults(faults)
                let found = await problem(configuration)
                #expect(
                    found?.problem == expected && found?.description.contains(words) == true,
                    "\(String(describing: found))")
            }
            // A key that is not the account's.
            var other = try TestAccount()
            other.fields["token_uri"] = configuration.accounts.current.tokenURI
            var stranger = configuration
            stranger.accounts = LiveServiceAccount(try other.read())
            try simulator.setFCMFaults(Faults())
            #expect(await problem(stranger)?.problem == .refused)
        }
    }

    @Test func `a server that cannot be reached, and wrong roots, are told before a worker starts`() async throws {
        try await withSimulator { _, configuration in
            var wrong = configuration
            wrong.caFile = "/none.pem"
            #expect(await problem(wrong)?.problem == .configuration)
            wrong.caFile = nil
            #expect(await problem(wrong)?.problem == .unreachable)
            wrong = configuration
            wrong.origin = "https://127.0.0.1:1"
            #expect(await problem(wrong)?.problem == .unreachable)
        }
    }
}
