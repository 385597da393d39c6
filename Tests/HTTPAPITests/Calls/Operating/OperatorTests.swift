import LiveActivity
import Redis
import Testing

@testable import HTTPAPI
@testable import Store

/// Tests the calls for an operator: quarantine, dead letters, alarms.
@Suite struct OperatorTests {
    private static let path = "/api/dead/9d78a53b-b16a-4c58-b78d-181d5e242078"

    @Test func `alarms are shown, and never make a gateway unready`() async throws {
        try await GatewayFixture.run { gateway in
            let app = try gateway.app
            let calm = try await gateway.send("GET", "/readyz", user: nil).text
            #expect(calm == #"{"ok":true,"alarms":[]}"#)
            try await gateway.store.alarms.raise(app, .credentials, "InvalidProviderToken")
            let ready = try await gateway.send("GET", "/readyz", user: nil)
            #expect(ready.status == 200)
            #expect(ready.text.contains(#""kind":"credentials","reason":"InvalidProviderToken","since":"20"#))
            let metrics = try await gateway.send("GET", "/metrics", user: nil).text
            #expect(metrics.contains(#"lamplighter_fleet_alarms{app="\#(app)",kind="credentials"} 1"#), "\(metrics)")
            for kind in Alarm.Kind.all where kind != .credentials {
                #expect(metrics.contains(#"lamplighter_fleet_alarms{app="\#(app)",kind="\#(kind.rawValue)"} 0"#))
            }
            #expect(metrics.contains(#"lamplighter_fleet_alarms{app="other-app",kind="credentials"} 0"#))
            #expect(metrics.contains(#"lamplighter_fleet_dead_letters{app="\#(app)"} 0"#))
            try await gateway.store.alarms.clear(app, .credentials)
            let after = try await gateway.send("GET", "/metrics", user: nil).text
            #expect(after.contains(#"lamplighter_fleet_alarms{app="\#(app)",kind="credentials"} 0"#))
        }
    }

    @Test func `quarantine is listed, released and discarded by name or whole`() async throws {
        try await GatewayFixture.run { gateway in
            func quarantine(_ name: String) async throws {
                let place = TokenPlace.activity(try ActivityName(name))
                try await gateway.store.quarantine.enlist(try gateway.app, place)
                let mark = [UInt8](repeating: 0, count: 8) + [1, UInt8(ascii: "R"), 1, 2, 3]
                let key = gateway.store.keys.quarantine(gateway.store.keys.tag(try gateway.app, place))
                try await gateway.store.redis.send(
                    RedisCommand("HSET", key, .bytes(ChannelID.random().stored), .bytes(mark)))
            }
            for name in ["a", "b", "c"] { try await quarantine(name) }
            let list = try await gateway.send("GET", "/api/quarantine?limit=2")
            #expect(list.status == 200)
            #expect(try list.integer("total_names") == 3)
            #expect(
                list.text.contains(#""tokens":1,"since":"1970-01-01T00:00:00.000Z","reasons":["R"]"#), "\(list.text)")
            let one = try await gateway.send("POST", "/api/quarantine/release", #"{"name":"b"}"#)
            #expect(one.text == #"{"ok":true,"names":1,"released":1}"#)
            let rest = try await gateway.send("POST", "/api/quarantine/discard")
            #expect(rest.text == #"{"ok":true,"names":2,"pruned":0,"newer":0,"gone":2}"#)
            #expect(try await gateway.send("GET", "/api/quarantine").text == #"{"ok":true,"total_names":0,"names":[]}"#)
        }
    }

    @Test func `what cannot be meant is refused`() async throws {
        try await GatewayFixture.run { gateway in
            let appSecret = "\(GatewayFixture.key):\(GatewayFixture.secret)"
            for (method, path) in [
                ("GET", "/api/quarantine"), ("POST", "/api/quarantine/release"), ("POST", "/api/quarantine/discard"),
                ("GET", "/api/dead"), ("GET", Self.path), ("DELETE", Self.path), ("POST", Self.path + "/retry"),
            ] {
                let status = try await gateway.send(method, path, user: appSecret).status
                #expect(status == 401, "\(method) \(path)")
            }
            #expect(try await gateway.send("POST", "/api/quarantine/release", #"{"names":"b"}"#).status == 400)
            #expect(try await gateway.send("POST", "/api/quarantine/discard", #"{"name":""}"#).status == 400)
            #expect(try await gateway.send("GET", "/api/quarantine?limit=0").status == 400)
            #expect(try await gateway.send("GET", "/api/dead?after=x").status == 400)
            #expect(try await gateway.send("GET", "/api/dead/x").status == 400)
            #expect(try await gateway.send("GET", Self.path).status == 404)
            #expect(try await gateway.send("DELETE", Self.path).status == 404)
            #expect(try await gateway.send("GET", "/api/dead").text == #"{"ok":true,"total":0,"dead":[]}"#)
        }
    }

    @Test func `start tokens are quarantined for their type, and judged by its token and time`() async throws {
        try await GatewayFixture.run { gateway in
            let app = try gateway.app
            let place = TokenPlace.startTokens(of: "Match")
            let path = "/api/start-tokens/Match/channels"
            for (number, channel) in ["a", "b"].enumerated() {
                let reply = try await gateway.send("PUT", "\(path)/\(channel)", #"{"token":"0\#(number)02"}"#)
                #expect(reply.text == #"{"ok":true,"result":"stored"}"#)
            }
            let misplaced = try await gateway.send("PUT", "\(path)/a", #"{"token":"0a","activity_id":"x"}"#)
            #expect(misplaced.status == 400 && misplaced.text.contains("activity_id"))
            #expect(try await gateway.send("GET", "/api/start-tokens/a%01").status == 400)
            let late = try await gateway.send("PUT", "\(path)/a", #"{"token":"0a","registered_at_ms":1600000000000}"#)
            #expect(late.text == #"{"ok":true,"result":"stale"}"#)
            func quarantine() async throws {
                let marks = ["a", "b"].enumerated().map { number, channel in
                    (
                        channel: (try? ChannelID(channel))?.stored ?? [],
                        mark: QuarantineMark(reason: "R", since: 0, token: [UInt8(number), 2])
                    )
                }
                try await gateway.store.quarantine.enlist(app, place)
                try await gateway.store.quarantine.hold(app, place, marks)
            }
            try await quarantine()
            let listed = try await gateway.send("GET", "/api/quarantine").text
            #expect(listed.contains(#"[{"attributes_type":"Match","tokens":2,"#), "\(listed)")
            let both = try await gateway.send(
                "POST", "/api/quarantine/release", #"{"name":"Match","attributes_type":"Match"}"#)
            #expect(both.status == 400)
            let other = try await gateway.send("POST", "/api/quarantine/release", #"{"name":"Match"}"#)
            #expect(other.text == #"{"ok":true,"names":0,"released":0}"#)
            let released = try await gateway.send("POST", "/api/quarantine/release", #"{"attributes_type":"Match"}"#)
            #expect(released.text == #"{"ok":true,"names":1,"released":2}"#)
            try await quarantine()
            let discarded = try await gateway.send("POST", "/api/quarantine/discard", #"{"attributes_type":"Match"}"#)
            #expect(discarded.text == #"{"ok":true,"names":1,"pruned":2,"newer":0,"gone":0}"#)
            let left = try await gateway.send("GET", "/api/start-tokens/Match").text
            #expect(left == #"{"attributes_type":"Match","tokens":0,"stale":0,"shards":0}"#)
        }
    }
}
