import LiveActivity
import Store
import TestSupport
import Testing

@testable import HTTPAPI

@Suite struct ExplainTests {
    @Test func `only an alarm that holds sends back is a reason`() async throws {
        try await GatewayFixture.run { gateway in
            let (app, alarms) = (try gateway.app, gateway.store.alarms)
            func explained() async throws -> String {
                try await gateway.send("GET", "/api/activities/match-42/channels/device-1").text
            }
            for kind in [Alarm.Kind.pruneGuard, .manyUnregistered, .clock, .expired, .broadcast] {
                try await alarms.raise(app, kind, "of something else")
                #expect(try await !explained().contains("Alarm"), "\(kind)")
            }
            for kind in [Alarm.Kind.credentials, .unreachable] {
                try await alarms.raise(app, kind, "no answer")
                #expect(try await explained().contains("Alarm \(kind.rawValue): no answer."), "\(kind)")
            }
        }
    }
}
