import Delivery
import Lanes
import LiveActivity
import Logging
import Testing
import TestSupport

extension PlatformUnderTest {
    static let fakePush = PlatformUnderTest(name: "FakePush") { kind, setup, body in
        try await withServer(streams: setup.streams, setup.faults) { server in
            let tokens = FakeAccessTokens()
            let transport = try LaneTransport(
                setup.lanes, kind, settings(server, tokens, requestTimeout: setup.requestTimeout), name: "fake-lane")
            try await body(running(server, tokens, transport))
            await transport.close()
        }
    }

    static func withServer(
        streams: Int = 100, _ faults: PlatformFaults = PlatformFaults(), _ body: (FakePushServer) async throws -> Void
    ) async throws {
        let server = try await FakePushServer.start(streams: streams, faults)
        do {
            try await body(server)
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    static func settings(
        _ server: FakePushServer, _ tokens: FakeAccessTokens, requestTimeout: Duration = .seconds(60),
        clock: @escaping @Sendable () -> Int64 = wallClock
    ) throws -> LaneSettings {
        let platform = LanePlatform(FakePush.name, credentials: tokens, rejection: FakePush.rejection)
        return LaneSettings(
            platform, origin: try #require(Origin(server.origin)), caFile: server.caFile,
            requestTimeout: requestTimeout, maximumStreams: 1_000, app: "shop", clock: clock, logger: LogLines().logger)
    }

    private static func running(
        _ server: FakePushServer, _ tokens: FakeAccessTokens, _ transport: LaneTransport
    ) -> RunningPlatform {
        RunningPlatform(
            transport: transport, push: FakePush.push, address: { FakePush.address($0) },
            record: { server.judge.record }, setFaults: { server.judge.set($0) }, deadVerdict: .pruneToken,
            tooManyVerdict: .pauseApp,
            secrets: {
                (0..<3).map { String(decoding: FakePush.address($0), as: UTF8.self) }
                    + [FakeAccessTokens.secret(tokens.count)]
            })
    }
}
