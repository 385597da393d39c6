import LiveActivity
import StrictJSON
import TestSupport
import Testing

@testable import HTTPAPI
@testable import Store

/// Android installs: one address for all names, which is kept with the channel.
@Suite struct AndroidFollowTests {
    private static let token = "fMEpW9-8T6:APA91b" + String(repeating: "x", count: 130)
    private static let other = "cdEpW9-8T6:APA91b" + String(repeating: "y", count: 130)
    private static let app = "\(GatewayFixture.key):\(GatewayFixture.secret)"

    private func run(_ body: (GatewayFixture) async throws -> Void) async throws {
        try await GatewayFixture.run(
            configure: { $0.apps[0].platforms = [.ios, .android] }, body)
    }

    /// The followers of a name, as a copy that can be read again.
    private func followers(_ gateway: GatewayFixture, _ name: String) async throws -> [String: String?] {
        let reply = try await gateway.send("GET", "/api/activities/\(name)/channels")
        return try reply.object.required("channels").array().reduce(into: [:]) { found, line in
            let line = try line.object()
            #expect(try line.required("platform").string() == "android")
            try found[line.required("channel").string()] = .some(line["token"]?.string())
        }
    }

    private func follow(
        _ gateway: GatewayFixture, _ name: String, _ channel: String, _ rest: String = ""
    ) async throws -> Reply {
        try await gateway.send(
            "PUT", "/api/activities/\(name)/channels/\(channel)", #"{"platform":"android"\#(rest)}"#, user: Self.app)
    }

    /// A follower of iOS would be no target, and a broadcast channel that is never made would keep pushes open.
    @Test func `an app with Android alone refuses what is of iOS`() async throws {
        try await GatewayFixture.run(configure: { $0.apps[0].platforms = [.android] }) { gateway in
            let line = #"{"token":"aabb"}"#
            let follower = try await gateway.send("PUT", "/api/activities/m/channels/phone", line)
            #expect(follower.status == 400 && follower.text.contains("platform: must be android"), "\(follower.text)")
            let bulk = try await gateway.send("POST", "/api/activities/m/channels", #"{"channel":"p","token":"aabb"}"#)
            #expect(bulk.text.contains("platform: must be android"), "\(bulk.text)")
            let batch = try await gateway.send(
                "PUT", "/api/channels/sdk/batch/phone?platform=ios",
                #"{"live_activities":[{"action":"set","name":"m","token":"aabb","action_ts_ms":\#(testNow)}]}"#)
            #expect(batch.text.contains("does not send to iOS"), "\(batch.text)")
            let broadcast = try await gateway.send("PUT", "/api/activities/m/broadcast?wait=0", "{}")
            #expect(broadcast.status == 409, "\(broadcast.text)")
            #expect(try await gateway.send("GET", "/api/activities/m/broadcast").status == 404)
        }
    }

    @Test func `an address is told once for all names, and a newer one moves them all`() async throws {
        try await run { gateway in
            let early = try await follow(gateway, "match-1", "phone")
            #expect(early.status == 400 && early.text.contains("the channel has no address yet"))
            #expect(try await gateway.send("GET", "/api/activities/match-1").status == 404)

            #expect(try await follow(gateway, "match-1", "phone", #","token":"\#(Self.token)""#).status == 200)
            #expect(try await follow(gateway, "match-2", "phone").status == 200)
            #expect(try await followers(gateway, "match-2") == ["phone": Self.token])
            #expect(try await follow(gateway, "match-3", "phone", #","token":"\#(Self.other)""#).status == 200)
            for name in ["match-1", "match-2", "match-3"] {
                #expect(try await followers(gateway, name) == ["phone": Self.other])
                #expect(try await gateway.send("GET", "/api/activities/\(name)").integer("tokens") == 1)
            }
            let gone = try await gateway.send("DELETE", "/api/activities/match-1/channels/phone", user: Self.app)
            #expect(gone.status == 204)
            #expect(try await followers(gateway, "match-1").isEmpty)
            #expect(try await followers(gateway, "match-2") == ["phone": Self.other])
        }
    }

    @Test func `a list and a channel say the platform, also of a channel whose address is gone`() async throws {
        try await run { gateway in
            let ios = try await gateway.send(
                "PUT", "/api/activities/match-1/channels/pad", #"{"token":"aa"}"#, user: Self.app)
            #expect(ios.status == 200)
            for phone in ["phone", "dead"] {
                #expect(try await follow(gateway, "match-1", phone, #","token":"\#(Self.token)""#).status == 200)
            }
            let body = #"{"channel":{"device_type":"ios","set_tags":true,"tags":["t"]}}"#
            for channel in ["pad", "phone", "mute"] {
                #expect(try await gateway.send("PUT", "/api/channels/\(channel)", body).status == 200)
            }
            let removal = TokenRemoval(
                channel: try ChannelID("dead").stored, token: try AndroidAddress(.token, Self.token).stored,
                deadSince: nil, reason: "NOT_FOUND",
                attributesType: TokenPlace.addressesType(.android), platform: .android)
            let removed = try await gateway.store.registry.prune(
                try gateway.app, .addresses(on: .android), [removal])
            #expect(removed == [.pruned])
            func platforms(_ query: String) async throws -> [String: String] {
                let list = try await gateway.send("GET", "/api/channels\(query)").object.required("channels").array()
                return try list.reduce(into: [:]) { found, line in
                    let line = try line.object()
                    found[try line.required("channel_id").string()] = try line["device_type"]?.string() ?? "-"
                }
            }
            let all = ["pad": "ios", "phone": "android", "dead": "android", "mute": "-"]
            #expect(try await platforms("") == all)
            #expect(try await platforms("?tag=t") == all.filter { $0.key != "dead" })
            for (channel, platform) in all {
                let shown = try await gateway.send("GET", "/api/channels/\(channel)").object
                let type = try shown.required("channel").object()["device_type"]?.string() ?? "-"
                #expect(type == platform, "\(channel)")
            }
        }
    }

    @Test func `an installation id is kept as one`() async throws {
        try await run { gateway in
            let fid = "cEuu3tQRTvK0xkDQhFzwYk"
            #expect(try await follow(gateway, "match-1", "phone", #","fid":"\#(fid)""#).status == 200)
            let reply = try await gateway.send("GET", "/api/activities/match-1/channels")
            let line = try #require(try reply.object.required("channels").array().first).object()
            #expect(try line.required("fid").string() == fid && line["token"] == nil)
            let both = try await follow(gateway, "match-1", "phone", #","fid":"\#(fid)","token":"a""#)
            #expect(both.status == 400 && both.text.contains("beside `fid`"))
        }
    }

    @Test func `a channel's PUT without an address suspends it, and keeps its names`() async throws {
        try await run { gateway in
            func put(_ rest: String) async throws {
                let reply = try await gateway.send(
                    "PUT", "/api/channels/phone", #"{"channel":{"device_type":"android"\#(rest)}}"#, user: Self.app)
                #expect(reply.status == 200, "\(reply.text)")
            }
            try await put(#","opt_in":true,"push_address":"\#(Self.token)","android":{"delivery_type":"fcm"}"#)
            #expect(try await follow(gateway, "match-1", "phone").status == 200)
            #expect(try await followers(gateway, "match-1") == ["phone": Self.token])
            try await put(#","opt_in":false"#)
            #expect(try await followers(gateway, "match-1") == ["phone": nil])
            #expect(try await gateway.send("GET", "/api/activities/match-1").integer("tokens") == 1)
            try await put(#","push_address":"\#(Self.other)","android":{"delivery_type":"fcm"}"#)
            #expect(try await followers(gateway, "match-1") == ["phone": Self.other])
            // Another service's address is no address of FCM.
            try await put(#","push_address":"\#(Self.token)","android":{"delivery_type":"hms"}"#)
            #expect(try await followers(gateway, "match-1") == ["phone": nil])
        }
    }

    @Test func `the SDK's batch says which cards began and which are over`() async throws {
        try await run { gateway in
            func batch(_ updates: String) async throws -> Reply {
                try await gateway.send(
                    "PUT", "/api/channels/sdk/batch/phone?platform=android", #"{"live_updates":[\#(updates)]}"#,
                    user: Self.app)
            }
            _ = try await gateway.send(
                "PUT", "/api/channels/phone", #"{"channel":{"device_type":"android","push_address":"\#(Self.token)"}}"#,
                user: Self.app)
            let now = testNow
            let set = #"{"action":"set","name":"match-1","start_ts_ms":\#(now - 9),"action_ts_ms":\#(now - 9)}"#
            #expect(try await batch(set).text == #"{"ok":true}"#)
            #expect(try await followers(gateway, "match-1") == ["phone": Self.token])
            let remove = #"{"action":"remove","name":"match-1","start_ts_ms":\#(now - 9),"action_ts_ms":\#(now - 5)}"#
            #expect(try await batch(remove).status == 200)
            #expect(try await followers(gateway, "match-1").isEmpty)
            // An older `set` that arrives late brings nothing back.
            #expect(try await batch(set).status == 200)
            #expect(try await followers(gateway, "match-1").isEmpty)
        }
    }

    private func put(_ gateway: GatewayFixture, version: String?) async throws {
        let version = version.map { #","app_version":"\#($0)""# } ?? ""
        let body = #"{"channel":{"device_type":"android","push_address":"\#(Self.token)"\#(version)}}"#
        #expect(try await gateway.send("PUT", "/api/channels/phone", body, user: Self.app).status == 200)
    }

    /// A batch of Airship's SDK, with one action for names and how many ms ago each was.
    /// - Parameters:
    ///   - started: how many ms ago the cards began; nil: then
    ///   - behind: how many ms the phone's clock is behind
    private func batch(
        _ gateway: GatewayFixture, _ action: String, _ names: [String: Int64], started: Int64? = nil,
        behind: Int64 = 0
    ) async throws {
        let now = testNow
        let updates = names.sorted { $0.key < $1.key }.map { name, ago in
            let (at, start) = (now - ago - behind, now - (started ?? ago))
            return #"{"action":"\#(action)","name":"\#(name)","action_ts_ms":\#(at),"start_ts_ms":\#(start)}"#
        }
        let body = #"{"live_updates":[\#(updates.joined(separator: ","))]}"#
        let reply = try await gateway.send(
            "PUT", "/api/channels/sdk/batch/phone?platform=android", body, user: Self.app)
        #expect(reply.status == 200 && reply.text == #"{"ok":true}"#, "\(reply.text)")
    }

    /// Whether the channel follows a name, and its card has to be started again.
    private func card(_ gateway: GatewayFixture, _ name: String) async throws -> [UInt8]? {
        let place = TokenPlace.activity(try ActivityName(name))
        let page = try await gateway.store.tokens.lookup(
            AppKey(GatewayFixture.key), place, [ChannelID("phone").stored]
        ).page
        return page.isEmpty ? nil : Array(page.token(0))
    }

    @Test(arguments: [true, false])
    func `what an update of the app removes stays, whichever of batch and version comes first`(
        versionFirst: Bool
    ) async throws {
        try await run { gateway in
            try await put(gateway, version: "1.0")
            try await batch(gateway, "set", ["match-1": 60_000, "match-2": 60_000, "match-3": 60_000])
            if versionFirst { try await put(gateway, version: "1.1") }
            // The user had swiped match-3 away half a minute before.
            try await batch(gateway, "remove", ["match-1": 20, "match-2": 10, "match-3": 30_000])
            if !versionFirst {
                #expect(try await card(gateway, "match-1") == nil)
                try await put(gateway, version: nil)
                #expect(try await card(gateway, "match-1") == nil)
                try await put(gateway, version: "1.1")
            }
            #expect(try await card(gateway, "match-1") == PushToken.withoutCard)
            #expect(try await card(gateway, "match-2") == PushToken.withoutCard)
            #expect(try await card(gateway, "match-3") == nil)
            // The SDK tells of the cards that came back, and later the user swipes both away.
            try await batch(gateway, "set", ["match-1": 0, "match-2": 0])
            #expect(try await card(gateway, "match-1") == PushToken.ofChannel)
            try await batch(gateway, "remove", ["match-1": 0, "match-2": 0])
            try await put(gateway, version: "1.1")
            #expect(try await card(gateway, "match-1") == nil)
        }
    }

    /// The phone's times of its actions are too old, but a push's second is the start of each card.
    @Test func `a phone whose clock is behind gets its cards back, and updates of them`() async throws {
        let behind: Int64 = 120_000
        try await run { gateway in
            try await put(gateway, version: "1.0")
            try await batch(gateway, "set", ["match-1": 60_000], started: 60_000, behind: behind)
            let older: [String: Int64] = ["match-2": 300_000, "match-3": 300_000]
            try await batch(gateway, "set", older, started: 300_000, behind: behind)
            try await put(gateway, version: "1.1")
            // The user had swiped match-3 away half a minute before.
            let now = testNow
            let removals = [("match-1", 20, 60_000), ("match-2", 10, 300_000), ("match-3", 30_000, 300_000)].map {
                (name, ago, started) in
                let at = now - Int64(ago) - behind
                return
                    #"{"action":"remove","name":"\#(name)","action_ts_ms":\#(at),"start_ts_ms":\#(now - Int64(started))}"#
            }
            let reply = try await gateway.send(
                "PUT", "/api/channels/sdk/batch/phone?platform=android",
                #"{"live_updates":[\#(removals.joined(separator: ","))]}"#, user: Self.app)
            #expect(reply.status == 200 && reply.text == #"{"ok":true}"#, "\(reply.text)")
            #expect(try await card(gateway, "match-1") == PushToken.withoutCard)
            #expect(try await card(gateway, "match-2") == PushToken.withoutCard)
            #expect(try await card(gateway, "match-3") == nil)
            // A report from before the loss, whose answer was lost.
            try await batch(gateway, "set", ["match-1": 60_000], started: 60_000, behind: behind)
            #expect(try await card(gateway, "match-1") == PushToken.withoutCard)
            // The start that brought the card back is a second later.
            try await batch(gateway, "set", ["match-1": 0, "match-2": 0], started: -1_000, behind: behind)
            #expect(try await card(gateway, "match-1") == PushToken.ofChannel)
            #expect(try await card(gateway, "match-2") == PushToken.ofChannel)
            try await batch(gateway, "remove", ["match-2": 0], started: -1_000, behind: behind)
            #expect(try await card(gateway, "match-2") == nil)
        }
    }

    @Test func `a card that its user swipes away stays away`() async throws {
        try await run { gateway in
            try await put(gateway, version: "1.0")
            try await batch(gateway, "set", ["match-1": 60_000, "match-2": 60_000])
            // Both, without another version of the app.
            try await batch(gateway, "remove", ["match-1": 9_000, "match-2": 9_000])
            try await put(gateway, version: "1.0")
            #expect(try await card(gateway, "match-1") == nil)
            #expect(try await card(gateway, "match-2") == nil)
            // One of two, and the app's update comes soon after.
            try await batch(gateway, "set", ["match-1": 8_000, "match-2": 8_000])
            try await batch(gateway, "remove", ["match-1": 10])
            try await put(gateway, version: "1.1")
            #expect(try await card(gateway, "match-1") == nil)
            #expect(try await card(gateway, "match-2") == PushToken.ofChannel)
        }
    }

    @Test func `bulk lines bring both platforms, and a line without an address is refused alone`() async throws {
        try await run { gateway in
            let lines = """
                {"channel":"a","platform":"android","token":"\(Self.token)"}
                {"channel":"b","token":"aabb"}
                {"channel":"c","platform":"android"}
                {"channel":"d","platform":"windows"}
                """
            let reply = try await gateway.send("POST", "/api/activities/match-1/channels", lines)
            #expect(try reply.integer("accepted") == 2)
            let rejected = try reply.object.required("rejected").array().map {
                try $0.object().required("line").integer()
            }
            #expect(rejected == [3, 4])
            #expect(try await gateway.send("GET", "/api/activities/match-1").integer("tokens") == 2)
        }
    }

    /// One was suspended, and FCM called the other one's address dead.
    @Test func `bulk lines bring addresses back, and the state of each other name with them`() async throws {
        try await run { gateway in
            let long = testNow - 60_000
            for phone in ["a", "b"] {
                let rest = #","token":"\#(Self.token)","registered_at_ms":\#(long)"#
                #expect(try await follow(gateway, "match-1", phone, rest).status == 200)
            }
            let suspended = try await gateway.send("PUT", "/api/channels/a", #"{"channel":{"device_type":"android"}}"#)
            #expect(suspended.status == 200)
            let dead = TokenRemoval(
                channel: try ChannelID("b").stored, token: try AndroidAddress(.token, Self.token).stored,
                deadSince: testNow, attributesType: TokenPlace.addressesType(.android), platform: .android)
            let place = TokenPlace.addresses(on: .android)
            #expect(try await gateway.store.registry.prune(try gateway.app, place, [dead]) == [.pruned])
            let lines = ["a", "b", "new"].map {
                #"{"channel":"\#($0)","platform":"android","token":"\#(Self.other)"}"#
            }
            let reply = try await gateway.send(
                "POST", "/api/activities/match-2/channels", lines.joined(separator: "\n"))
            #expect(try reply.integer("accepted") == 3, "\(reply.text)")
            // A state is repeated with a registration of now.
            let channels = try ["a", "b"].map { try ChannelID($0).stored }
            let page = try await gateway.store.tokens.lookup(
                gateway.app, .activity(try ActivityName("match-1")), channels
            ).page
            #expect(page.entries.map(\.registeredAt) == [testNow, testNow])
        }
    }

    /// Redis's clock moves between the two.
    @Test(arguments: [true, false], [595, 601])
    func `batch and version belong together for ten minutes`(versionFirst: Bool, seconds: Int) async throws {
        let clock = try TestClock()
        let server = try await RedisServer.start(clock: clock)
        defer { server.stop() }
        try await GatewayFixture.run(
            server, url: server.url, configure: { $0.apps[0].platforms = [.ios, .android] }
        ) { gateway in
            try await put(gateway, version: "1.0")
            try await batch(gateway, "set", ["match-1": 60_000])
            if versionFirst { try await put(gateway, version: "1.1") }
            if !versionFirst { try await batch(gateway, "remove", ["match-1": 20]) }
            clock.step(.seconds(seconds))
            if versionFirst { try await batch(gateway, "remove", ["match-1": 20]) }
            if !versionFirst { try await put(gateway, version: "1.1") }
            #expect(try await card(gateway, "match-1") == (seconds < 600 ? PushToken.withoutCard : nil))
        }
    }

    @Test func `an app without Android refuses its followers and says so`() async throws {
        try await GatewayFixture.run { gateway in
            let reply = try await follow(gateway, "match-1", "phone", #","token":"\#(Self.token)""#)
            #expect(reply.status == 400 && reply.text.contains("platform: must be ios"))
        }
    }
}
