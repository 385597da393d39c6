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

    @Test func `an alarm of the other platform is no reason`() async throws {
        try await GatewayFixture.run { gateway in
            let (app, name) = (try gateway.app, try ActivityName("match-42"))
            let token = try #require(PushToken(bytes: [0xaa]))
            let tokens: [(String, PushToken)] = [("ios", token), ("android", .ofChannel(on: .android))]
            for (channel, token) in tokens {
                let registration = Registration(
                    channel: try ChannelID(channel), token: token, registeredAt: testNow - 1_000)
                let results = try await gateway.store.registry.track(app, .activity(name), [registration])
                #expect(results == [.stored])
            }
            func explained(_ channel: String) async throws -> String {
                try await gateway.send("GET", "/api/activities/match-42/channels/\(channel)").text
            }
            for kind in [Alarm.Kind.credentials, .unreachable] {
                try await gateway.store.alarms.raise(AppPlatform(app, .android), kind, "no answer")
                #expect(try await !explained("ios").contains("Alarm"), "\(kind)")
                #expect(try await explained("android").contains("Alarm \(kind.rawValue): no answer."), "\(kind)")
                #expect(try await explained("nobody").contains("Alarm \(kind.rawValue): no answer."), "\(kind)")
            }
            // Alarms of no platform hold both back.
            try await gateway.store.alarms.raise(app, .newerFormat, "stopped")
            #expect(try await explained("android").contains("Alarm newer_format: stopped."))
        }
    }
}
