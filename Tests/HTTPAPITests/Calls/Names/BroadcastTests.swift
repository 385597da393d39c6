import LiveActivity
import Store
import TestSupport
import Testing

@testable import HTTPAPI

/// Tests how gateways record and show broadcast channels. The test takes the part of the workers.
@Suite(.timeLimit(.minutes(5))) struct BroadcastTests {
    private let path = "/api/activities/match-42/broadcast"

    /// Does what a worker does: makes the channel and gives it to its name.
    private func make(_ gateway: GatewayFixture, _ text: String = "dHN0LXNyY2gtY2hubA==") async throws {
        let (app, broadcasts) = (try gateway.app, gateway.store.broadcasts)
        let (name, id) = (try ActivityName("match-42"), try BroadcastChannelID(text))
        let lease = try #require(try await broadcasts.claim(app, owner: "test", for: .zero))
        #expect(try await broadcasts.made(lease, name, id, for: .zero))
        #expect(try await broadcasts.live(app, name, id, now: 1_790_000_000_000))
        #expect(try await broadcasts.forget(lease, for: .zero))
    }

    @Test func `a channel from the wish to its end`() async throws {
        try await GatewayFixture.run { gateway in
            let missing = try await gateway.send("GET", path)
            #expect(missing.status == 404)
            let asked = try await gateway.send("PUT", "\(path)?wait=0", #"{"storage":"newest"}"#)
            #expect(asked.status == 202)
            #expect(
                asked.text == #"{"ok":true,"name":"match-42","broadcast":{"state":"wanted","storage":"newest","#
                    + #""channel":null,"created_at":null}}"#)

            // A waiting caller gets the id as soon as it exists.
            async let waiting = gateway.send("PUT", "\(path)?wait=30", #"{"storage":"newest"}"#)
            try await make(gateway)
            let made = try await waiting
            #expect(made.status == 200)
            #expect(
                made.text == #"{"ok":true,"name":"match-42","broadcast":{"state":"live","storage":"newest","#
                    + #""channel":"dHN0LXNyY2gtY2hubA==","created_at":"2026-09-21T14:13:20.000Z"}}"#)

            // A device asks with the app's secret. A publisher sees the channel with the name.
            let device = try await gateway.send(
                "GET", path, user: "\(GatewayFixture.key):\(GatewayFixture.secret)")
            #expect(device.status == 200 && device.text == made.text)
            let activity = try await gateway.send("GET", "/api/activities/match-42")
            #expect(activity.text.contains(#""tokens":0"#))
            #expect(activity.text.contains(#""broadcast":{"state":"live","storage":"newest","channel":"dHN0"#))
            let list = try await gateway.send("GET", "/api/broadcasts")
            #expect(
                list.text == #"{"ok":true,"channels":1,"foreign":0,"limit":10000,"broadcasts":"#
                    + #"[{"name":"match-42","channel":"dHN0LXNyY2gtY2hubA=="}]}"#)

            let other = try await gateway.send("PUT", path, #"{"storage":"none"}"#)
            #expect(other.status == 409 && other.text.contains("storage newest, and APNs cannot change it"))

            let deleted = try await gateway.send("DELETE", "\(path)?wait=0")
            #expect(deleted.status == 202 && deleted.text.contains(#""state":"deleting""#))
            let again = try await gateway.send("PUT", "\(path)?wait=0", #"{"storage":"newest"}"#)
            #expect(again.status == 409 && again.header("retry-after") == "1")
            let gone = try await gateway.store.broadcasts.gone(
                try gateway.app, try ActivityName("match-42"), try BroadcastChannelID("dHN0LXNyY2gtY2hubA=="),
                now: 1_790_000_000_000)
            #expect(gone == .deleted)
            #expect(try await gateway.send("GET", path).status == 404)
            #expect(try await gateway.send("DELETE", path).status == 404)
            #expect(try await gateway.send("GET", "/api/broadcasts").integer("channels") == 0)
        }
    }

    @Test func `the limits and warnings of a payload are those of the name's targets`() async throws {
        try await GatewayFixture.run { gateway in
            _ = try await gateway.send("PUT", "\(path)?wait=0")
            try await make(gateway)
            func send(_ size: Int, to path: String) async throws -> Reply {
                let state = #"{"t":"\#(String(repeating: "x", count: size))"}"#
                let activity = #"{"name":"match-42","event":"update","content_state":\#(state)}"#
                return try await gateway.publish(publishText(activity: activity), path: path)
            }
            let alone = try await send(10, to: "/api/push/validate")
            #expect(alone.text.contains(#""payload_limit":5120"#), "\(alone.text)")
            let large = try await send(4_500, to: "/api/push")
            #expect(large.status == 202 && large.text.contains("goes to the broadcast channel alone"))
            #expect(!large.text.contains("PayloadTooLarge"), "\(large.text)")
            try await gateway.follow("match-42")
            let both = try await send(10, to: "/api/push/validate")
            #expect(both.text.contains(#""payload_limit":4096"#), "\(both.text)")
            #expect(try await send(4_500, to: "/api/push").text.contains("fail with PayloadTooLarge"))
        }
    }

    @Test func `apnss refusal is told`() async throws {
        try await GatewayFixture.run { gateway in
            let (app, name) = (try gateway.app, try ActivityName("match-42"))
            async let asked = gateway.send("PUT", "\(path)?wait=30")
            // A new wish removes earlier failures, so the worker fails after it.
            let broadcasts = gateway.store.broadcasts
            try await eventually("the wish is stored") { try await broadcasts.channel(app, name) != nil }
            _ = try await broadcasts.failed(app, name, "APNs does not make a channel: 400 Reason")
            let answer = try await asked
            #expect(answer.status == 409)
            #expect(try answer.string("error").hasPrefix("APNs does not make a channel: 400 Reason. A worker tries"))
        }
    }

    @Test func `what is refused`() async throws {
        try await GatewayFixture.run { gateway in
            for (method, path, body, word) in [
                ("PUT", path, #"{"storage":"all"}"#, "storage"), ("PUT", path, #"{"stor":"none"}"#, "stor"),
                ("PUT", "\(path)?wait=31", "{}", "wait"), ("DELETE", "\(path)?wait=x", "", "wait"),
                ("GET", "/api/broadcasts?limit=0", "", "limit"),
            ] {
                let reply = try await gateway.send(method, path, body.isEmpty ? nil : body)
                #expect(reply.status == 400 && reply.text.contains(word), "\(method) \(path) \(body)")
            }
            let device = "\(GatewayFixture.key):\(GatewayFixture.secret)"
            #expect(try await gateway.send("PUT", path, "{}", user: device).status == 401)
            #expect(try await gateway.send("DELETE", path, user: device).status == 401)
            #expect(try await gateway.send("GET", "/api/broadcasts", user: device).status == 401)
        }
    }

    @Test func `a page of the list`() async throws {
        try await GatewayFixture.run { gateway in
            let broadcasts = gateway.store.broadcasts
            let lease = try #require(try await broadcasts.claim(try gateway.app, owner: "test", for: .seconds(60)))
            for (name, id) in [("a", "YWFh"), ("b", "YmJi"), ("c", "Y2Nj")] {
                #expect(
                    try await broadcasts.made(
                        lease, try ActivityName(name), try BroadcastChannelID(id), for: .seconds(60)))
            }
            let first = try await gateway.send("GET", "/api/broadcasts?limit=2")
            #expect(try first.string("next") == "b" && first.text.contains(#"{"name":"a","channel":"YWFh"}"#))
            let second = try await gateway.send("GET", "/api/broadcasts?limit=2&after=b")
            #expect(second.text.contains(#"[{"name":"c","channel":"Y2Nj"}]"#) && !second.text.contains("next"))
        }
    }
}
