import LiveActivity
import TestSupport
import Testing

@testable import HTTPAPI

/// Which requests have a line in the log.
@Suite struct RequestLogTests {
    @Test func `registrations that go well are for debugging, those that fail are for people`() async throws {
        try await GatewayFixture.run { gateway in
            let path = "/api/activities/order-7/channels/device-1"
            let replies = [
                try await gateway.send("PUT", path, #"{"token":"aabbccdd"}"#),
                try await gateway.send("PUT", path, #"{"token":"xyz"}"#),
                try await gateway.send("GET", "/api/activities/order-7"),
            ]
            #expect(replies.map(\.status) == [200, 400, 200])
            let lines = gateway.log.all.filter { $0.contains(" request ") }
            #expect(lines.map { String($0.prefix { $0 != " " }) } == ["debug", "info", "info"], "\(lines)")
            #expect(!lines.contains { $0.contains("aabbccdd") || $0.contains("device-1") })
        }
    }

    @Test func `a request that is repeated is sampled, and others keep their lines`() {
        let sampling = RequestSampling()
        let now = ContinuousClock.now
        func take(_ route: String, _ status: Int, at now: ContinuousClock.Instant) -> Int? {
            sampling.take(route: route, status: status, now: now)
        }
        #expect((0..<150).compactMap { _ in take("/api/push", 400, at: now) }.count == 100)
        #expect(take("/api/push", 409, at: now) == 0 && take("/api/pushes", 400, at: now) == 0)
        #expect(take("/api/push", 400, at: now + .seconds(1)) == 50, "the next line tells of those left out")
        #expect((0..<1_100).compactMap { _ in take("/api/push", 202, at: now) }.count == 1_000)
    }
}
