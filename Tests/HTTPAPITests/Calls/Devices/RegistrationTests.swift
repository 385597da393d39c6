import Curl
import LiveActivity
import OpenSSL
import Redis
import StrictJSON
import Synchronization
import TestSupport
import Testing

@testable import HTTPAPI
@testable import Store

@Suite struct RegistrationTests {
    let token = String(repeating: "ab", count: 80)

    @Test func `a channel follows a name and stops`() async throws {
        try await GatewayFixture.run { gateway in
            let app = "\(GatewayFixture.key):\(GatewayFixture.secret)"
            let path = "/api/activities/a%2Fb/channels/device-1"
            let tracked = try await gateway.send("PUT", path, #"{"token":"\#(token)"}"#, user: app)
            #expect(tracked.status == 200 && tracked.text == #"{"ok":true,"result":"stored"}"#)
            let old = try await gateway.send(
                "PUT", path, #"{"token":"cc","registered_at_ms":1795000000000}"#, user: app)
            #expect(old.status == 200 && old.text == #"{"ok":true,"result":"stale"}"#)
            #expect(try await gateway.send("GET", "/api/activities/a%2Fb").integer("tokens") == 1)
            let bad = try await gateway.send("PUT", path, #"{"token":"xyz"}"#, user: app)
            #expect(
                bad.golden
                    == #"{"ok":false,"operation_id":"<uuid>","error":"token: must be 1 to 512 bytes written as an even number of hex digits","error_code":40000,"details":{"error":"must be 1 to 512 bytes written as an even number of hex digits","path":"token","location":{"line":1,"column":10}}}"#
            )
            let gone = try await gateway.send("DELETE", path, user: app)
            #expect(gone.status == 204 && gone.text.isEmpty)
            #expect(try await gateway.send("GET", "/api/activities/nobody").status == 404)
        }
    }

    @Test func `past a quota a new name is answered 429, and the setting is named`() async throws {
        try await GatewayFixture.run(quotas: [.names: 1]) { gateway in
            let app = "\(GatewayFixture.key):\(GatewayFixture.secret)"
            func follow(_ name: String) async throws -> Reply {
                try await gateway.send("PUT", "/api/activities/\(name)/channels/c", #"{"token":"aa"}"#, user: app)
            }
            #expect(try await follow("match-1").status == 200)
            let refused = try await follow("match-2")
            #expect(refused.status == 429 && refused.header("retry-after") == "60")
            #expect(
                try refused.string("error")
                    == "The app has about 1 names, as many as limits.names allows this caller: nothing was added. "
                    + "Those that are there can be changed. Try again later, or raise the setting.")
            #expect(try await follow("match-1").status == 200)
            let entry = #"{"action":"set","name":"match-2","token":"aa","action_ts_ms":1795284000000}"#
            let batch = try await gateway.send(
                "PUT", "/api/channels/sdk/batch/c", #"{"live_activities":[\#(entry)]}"#, user: app)
            #expect(batch.status == 429)
            let bulk = try await gateway.send(
                "POST", "/api/activities/match-2/channels", #"{"channel":"c","token":"aa"}"#)
            #expect(bulk.status == 429)
            #expect(gateway.log.all.contains { $0.contains("limits.names reached") })
        }
    }

    @Test func `the last tenth of a quota is for servers, not for the app secret and devices`() async throws {
        try await GatewayFixture.run(quotas: [.names: 11]) { gateway in
            // By another process, so that this one measures the names with its first call.
            let other = Store(redis: gateway.store.redis, clock: { testNow })
            for number in 0..<9 {
                let registration = Registration(
                    channel: try ChannelID("c"), token: try PushToken(hex: "aa"), registeredAt: testNow)
                _ = try await other.registry.track(
                    try gateway.app, .activity(try ActivityName("old-\(number)")), [registration])
            }
            func follow(_ name: String, _ secret: String) async throws -> Reply {
                try await gateway.send(
                    "PUT", "/api/activities/\(name)/channels/c", #"{"token":"aa"}"#,
                    user: "\(GatewayFixture.key):\(secret)")
            }
            #expect(try await follow("last", GatewayFixture.secret).status == 200)
            let refused = try await follow("more", GatewayFixture.secret)
            #expect(refused.status == 429 && refused.text.contains("about 10 names"), "\(refused.text)")
            #expect(try await follow("more", GatewayFixture.masterSecret).status == 200)
            #expect(try await follow("last", GatewayFixture.secret).status == 200)
        }
    }

    @Test func `names are listed by pages`() async throws {
        try await GatewayFixture.run { gateway in
            for name in ["match-1", "match-2", "order-1", "order-2", "order-3"] {
                _ = try await gateway.send("PUT", "/api/activities/\(name)/channels/c", #"{"token":"\#(token)"}"#)
            }
            func row(_ name: String) -> String { #"{"name":"\#(name)","followers":1,"ended":false}"# }
            let first = try await gateway.send("GET", "/api/activities?limit=2&prefix=order")
            let two = "\(row("order-1")),\(row("order-2"))"
            #expect(first.text == #"{"ok":true,"activities":[\#(two)],"next":"order-2"}"#)
            let second = try await gateway.send("GET", "/api/activities/?limit=2&prefix=order&after=order-2")
            #expect(second.text == #"{"ok":true,"activities":[\#(row("order-3"))]}"#)
        }
    }

    @Test func `names are picked by a part of their text and by their state`() async throws {
        try await GatewayFixture.run { gateway in
            for name in ["a-final", "b-final", "c-semi"] {
                _ = try await gateway.send("PUT", "/api/activities/\(name)/channels/c", #"{"token":"\#(token)"}"#)
            }
            _ = try await gateway.publish(
                publishText(activity: #"{"name":"b-final","event":"end","content_state":{}}"#))
            _ = try await gateway.publish(
                publishText(activity: #"{"name":"d-new","event":"update","content_state":{}}"#))
            func names(_ query: String) async throws -> [String] {
                let reply = try await gateway.send("GET", "/api/activities?\(query)")
                #expect(reply.status == 200, "\(reply.text)")
                return try reply.object.required("activities").array()
                    .map { try $0.object().required("name").string() }
            }
            #expect(try await names("contains=final") == ["a-final", "b-final"])
            #expect(try await names("contains=final&ended=false") == ["a-final"])
            #expect(try await names("ended=true") == ["b-final"])
            #expect(try await names("followed=true&limit=1000") == ["a-final", "b-final", "c-semi"])
            let reply = try await gateway.send("GET", "/api/activities?prefix=b")
            #expect(reply.text.contains("last_push_at") && reply.text.contains(#""ended":true"#))
            #expect(try await gateway.send("GET", "/api/activities?ended=yes").status == 400)
        }
    }

    @Test func `the SDK's whole way: channel, token, batch`() async throws {
        try await GatewayFixture.run { gateway in
            let headers = signed(["NONCE", "2026-11-21T18:00:00"])
            let created = try await gateway.send(
                "POST", "/api/channels/", #"{"channel":{"device_type":"ios","set_tags":true,"tags":["t"]}}"#, user: nil,
                headers: headers)
            #expect(created.status == 201)
            #expect(created.golden == #"{"ok":true,"operation_id":"<uuid>","channel_id":"<uuid>"}"#)
            let channel = try created.string("channel_id")
            let auth = try await gateway.send(
                "GET", "/api/auth/device", user: nil, headers: signed([channel, "N", "2026-11-21T18:00:01"]))
            #expect(auth.status == 200)
            #expect(try auth.integer("expires_in") == 3_600_000)
            let bearer = [
                ("Authorization", "Bearer \(try auth.string("token"))"), ("X-UA-Appkey", GatewayFixture.key),
                ("X-UA-Channel-ID", channel), ("X-UA-Auth-Type", "SDK-JWT"),
            ]
            let batch =
                #"{"tags":{"add":{"g":["x"]}},"attributes":[1],"live_activities":[{"action":"set","type":"update_token","id":"A","name":"order-1","token":"\#(token)","action_ts_ms":1795284000000,"start_ts_ms":1795283999000},{"action":"set","type":"start_token","attributes_type":"T","token":"\#(token)","action_ts_ms":1795284000000}]}"#
            let path = "/api/channels/sdk/batch/\(channel)?platform=ios"
            #expect(try await gateway.send("PUT", path, batch, user: nil, headers: bearer).status == 200)
            #expect(try await gateway.send("GET", "/api/activities/order-1").integer("tokens") == 1)
            // The token is valid only for its channel.
            let other = "/api/channels/sdk/batch/\(UUIDBytes.random())?platform=ios"
            #expect(try await gateway.send("PUT", other, batch, user: nil, headers: bearer).status == 401)
            #expect(
                try await gateway.send(
                    "PUT", "/api/channels/\(channel)", #"{"channel":{"device_type":"ios"}}"#, user: nil, headers: bearer
                ).status == 200)
            #expect(
                try await gateway.send("POST", "/api/push", publishText(), user: nil, headers: bearer).status == 401)
            // Good entries are applied, and the bad one is reported.
            let mixed =
                #"{"live_activities":[{"action":"set","name":"order-2","token":"zz","action_ts_ms":1795284000000},{"action":"remove","id":"A","name":"order-1","action_ts_ms":1795284000001}]}"#
            let reply = try await gateway.send("PUT", path, mixed, user: nil, headers: bearer)
            #expect(reply.status == 200)
            let problems = try reply.strings("problems")
            #expect(problems.count == 1 && problems[0].contains("live_activities[0].token"))
            #expect(try reply.integer("applied") == 1)
            let info = try await gateway.send("GET", "/api/activities/order-1")
            let tokens = info.status == 404 ? 0 : try info.integer("tokens")
            #expect(tokens == 0)
        }
    }

    @Test func `a server sets tags and named users`() async throws {
        try await GatewayFixture.run { gateway in
            let tagged = try await gateway.send(
                "POST", "/api/channels/tags/", #"{"audience":{"ios_channel":["a","b"]},"add":{"g":["t"]}}"#)
            #expect(tagged.status == 200 && tagged.text == #"{"ok":true}"#)
            #expect(
                try await gateway.send(
                    "POST", "/api/named_users/associate", #"{"channel_id":"a","device_type":"ios","named_user_id":"u"}"#
                ).status == 200)
            #expect(
                try await gateway.send(
                    "POST", "/api/named_users/disassociate/", #"{"channel_id":"a","device_type":"ios"}"#
                ).status == 200)
            #expect(try await gateway.send("POST", "/api/named_users/associate", #"{"channel_id":"a"}"#).status == 400)
        }
    }

    @Test func `of tags for several platforms those that are served get them, and a warning tells of the other`()
        async throws
    {
        try await GatewayFixture.run { gateway in
            let tagged = try await gateway.send(
                "POST", "/api/channels/tags",
                #"{"audience":{"ios_channel":"a","amazon_channel":"b"},"add":{"g":["t"]}}"#)
            let warning = "audience.amazon_channel is not tagged: Lamplighter does not serve this platform"
            #expect(tagged.status == 200)
            #expect(try tagged.strings("warnings") == [warning])
            let set = gateway.store.keys.members(try gateway.app, .tag("t", group: "g"))
            let members = try await gateway.store.redis.send(RedisCommand("SMEMBERS", set)).array()
            #expect(try members.map { Array(try $0.bytes()) } == [ChannelID("a").stored])
        }
    }

    @Test func `a named user's email address is refused by its name`() async throws {
        try await GatewayFixture.run { gateway in
            let refused = try await gateway.send(
                "POST", "/api/named_users/associate", #"{"email_address":"a@example.com","named_user_id":"u"}"#)
            #expect(refused.status == 400)
            #expect(try refused.object.required("details").object().required("path").string() == "email_address")
            let anyChannel = gateway.store.keys.channel(try gateway.app, try ChannelID("*"))
            #expect(try await gateway.store.redis.keys(anyChannel).isEmpty)
        }
    }

    @Test func `bulk registrations stream in, and each bad line is told`() async throws {
        try await GatewayFixture.run { gateway in
            let good = 5_000
            let next = Mutex(0)
            let token = self.token
            let body = HTTPBody.stream {
                let line = next.withLock { next in
                    next += 1
                    return next
                }
                switch line {
                case 1...good: return Array("{\"channel\":\"c\(line)\",\"token\":\"\(token)\"}\n".utf8)
                case good + 1: return Array("{\"channel\":\"x\",\"token\":\"abc\"}\n\n".utf8)
                case good + 2: return Array("not json\n\(String(repeating: "y", count: 9_000))\n".utf8)
                case good + 3: return Array("{\"channel\":\"last\",\"token\":\"\(token)\"}".utf8)
                default: return []
                }
            }
            let request = HTTPRequest(
                "POST", "http://127.0.0.1:\(gateway.port)/api/activities/match-1/channels",
                headers: [
                    (
                        "Authorization",
                        "Basic " + Base64.encode("\(GatewayFixture.key):\(GatewayFixture.masterSecret)".utf8)
                    ),
                    ("Expect", ""),
                ], body: body, timeout: .seconds(120))
            let reply = Reply(try await HTTPClient().send(request))
            #expect(reply.status == 200)
            #expect(
                reply.text
                    == #"{"ok":true,"accepted":5001,"stale":0,"rejected":[{"line":5001,"error":"token: must be 1 to 512 bytes written as an even number of hex digits"},{"line":5003,"error":"the JSON text expects true, false or null here"},{"line":5004,"error":"is longer than 8192 bytes"}],"rejected_count":3}"#
            )
            #expect(try await gateway.send("GET", "/api/activities/match-1").integer("tokens") == 5_001)
        }
    }

    /// Divided one by one, the buckets would be some 220. A wrong length does no harm: `ImportTests` has the rest.
    @Test func `the length of a bulk body tells a new name its buckets`() async throws {
        try await GatewayFixture.run { gateway in
            let lines = (0..<20_000).map { #"{"channel":"c\#($0)","token":"\#(token)"}"# }.joined(separator: "\n")
            let path = "/api/activities/match-1"
            for (query, status) in [("?dry_run=true", 404), ("", 200)] {
                let reply = try await gateway.send("POST", path + "/channels" + query, lines)
                #expect(try reply.integer("accepted") == 20_000)
                #expect(try await gateway.send("GET", path).status == status)
            }
            let found = try await gateway.send("GET", path)
            #expect(try found.integer("tokens") == 20_000)
            #expect(try (256...260).contains(found.integer("shards")), "\(found.text)")
        }
    }

    private func signed(_ parts: [String]) -> [(String, String)] {
        let text = ([GatewayFixture.key] + parts).joined(separator: ":")
        let code = HMACKey(GatewayFixture.secret.utf8).code(for: text.utf8)
        var headers = [
            ("Authorization", "Bearer " + Base64.encode(code)), ("X-UA-Appkey", GatewayFixture.key),
            ("X-UA-Nonce", parts[parts.count - 2]), ("X-UA-Timestamp", parts[parts.count - 1]),
        ]
        if parts.count == 3 { headers.append(("X-UA-Channel-ID", parts[0])) }
        return headers
    }

    /// The mark joins the space before it into one Character when a name is read back from a route.
    @Test func `pushes for a name that begins with a combining mark are found again`() async throws {
        try await GatewayFixture.run { gateway in
            let token = String(repeating: "ab", count: 80)
            let tracked = try await gateway.send(
                "PUT", "/api/activities/%CC%81x/channels/d", #"{"token":"\#(token)"}"#)
            #expect(tracked.status == 200)
            for number in 1...3 {
                let activity = #"{"name":"\u0301x","event":"update","content_state":{"i":\#(number)}}"#
                let reply = try await gateway.publish(
                    #"{"audience":"all","device_types":["ios"],"notification":{"ios":{"live_activity":\#(activity)}}}"#)
                #expect(reply.status == 202)
                let id = try reply.strings("push_ids")[0]
                let ledger = try await gateway.send("GET", "/api/push/\(id)")
                #expect(try ledger.status == 200 && ledger.string("name") == "\u{301}x")
            }
        }
    }
}
