import LiveActivity
import Redis
import TestSupport
import Testing

@testable import HTTPAPI
@testable import Store

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

    @Test func `a device of Android is told the rules of Android`() async throws {
        try await GatewayFixture.run(configure: { $0.apps[0].platforms = [.ios, .android] }) { gateway in
            let (app, name) = (try gateway.app, try ActivityName("match-42"))
            func explained(_ channel: String) async throws -> String {
                try await gateway.send("GET", "/api/activities/match-42/channels/\(channel)").text
            }
            func follow(_ channel: String, _ token: PushToken, hoursAgo: Int64) async throws {
                let at = testNow - hoursAgo * 3_600_000
                let registration = Registration(channel: try ChannelID(channel), token: token, registeredAt: at)
                let results = try await Store(redis: gateway.store.redis, clock: { at }).registry.track(
                    app, .activity(name), [registration])
                #expect(results == [.stored])
            }
            try await follow("phone", try PushToken(hex: "aa"), hoursAgo: 9)
            try await follow("robot", .ofChannel(on: .android), hoursAgo: 73)
            #expect(try await explained("phone").contains("and Apple ends activities after 8 h."))
            let over = try await explained("robot")
            #expect(over.contains("over") && over.contains("for 72 h after a report"), "\(over)")
            #expect(!over.contains("Apple"), "\(over)")
            let unknown = try await explained("nobody")
            #expect(
                unknown.contains("\"unknown\"") && unknown.contains("or nothing is kept of that any more"), "\(unknown)"
            )
        }
    }

    @Test func `a start on Android waits for FCM, and an end prunes without a dead token`() async throws {
        try await GatewayFixture.run(configure: { $0.apps[0].platforms = [.ios, .android] }) { gateway in
            let (store, app, name) = (gateway.store, try gateway.app, try ActivityName("match-42"))
            let channel = try ChannelID("robot")
            let (tag, member) = (store.keys.tag(app, name), RedisArgument.bytes(channel.stored))
            func explained() async throws -> String {
                try await gateway.send("GET", "/api/activities/match-42/channels/robot").text
            }
            _ = try await store.lateJoiners.expect(app, name, [channel.stored], startedBy: 3, now: testNow - 700)
            let started = try await explained()
            #expect(started.contains("Its app has reported no card since.") && !started.contains("token"), "\(started)")
            // Its request is open, and it does not follow yet.
            let queue: [UInt8] = [0, 1, Platform.android.code << 6] + PushID.random().uuid.bytes
            try await store.redis.run("HSET", store.keys.retryQueues(tag), member, .bytes(queue))
            try await store.redis.run("HSET", store.keys.openRequests(tag), member, "request")
            let open = try await explained()
            #expect(open.contains("FCM has not answered its request yet") && !open.contains("APNs"), "\(open)")

            let address = PushToken.ofChannel(on: .android)
            let registration = Registration(channel: channel, token: address, registeredAt: testNow - 1_000)
            #expect(try await store.registry.track(app, .activity(name), [registration]) == [.stored])
            let ended = TokenRemoval(
                channel: channel.stored, token: PushToken.ofChannel, endedAt: testNow, registeredAt: testNow - 1_000,
                platform: .android)
            #expect(try await store.registry.prune(app, .activity(name), [ended]) == [.pruned])
            let pruned = try await explained()
            #expect(pruned.contains("It got an end, or on iOS its token was dead"), "\(pruned)")
        }
    }

    @Test func `a device without an address is told so, and one whose user lets the app show nothing`() async throws {
        try await GatewayFixture.run(configure: { $0.apps[0].platforms = [.android] }) { gateway in
            let token = "fMEpW9-8T6:APA91b" + String(repeating: "x", count: 130)
            func explained() async throws -> String {
                try await gateway.send("GET", "/api/activities/match-42/channels/robot").text
            }
            let followed = try await gateway.send(
                "PUT", "/api/activities/match-42/channels/robot", #"{"platform":"android","token":"\#(token)"}"#)
            #expect(followed.status == 200, "\(followed.text)")
            #expect(try await !explained().contains("no_address"))
            func put(_ rest: String) async throws {
                let reply = try await gateway.send(
                    "PUT", "/api/channels/robot", #"{"channel":{"device_type":"android"\#(rest)}}"#,
                    user: "\(GatewayFixture.key):\(GatewayFixture.secret)")
                #expect(reply.status == 200, "\(reply.text)")
            }
            try await put(#","opt_in":false,"push_address":"\#(token)""#)
            let silent = try await explained()
            #expect(silent.contains("notifications_off") && silent.contains("show no notification"), "\(silent)")
            try await put(#","opt_in":true"#)
            let gone = try await explained()
            #expect(gone.contains("no_address") && !gone.contains("notifications_off"), "\(gone)")
        }
    }
}
