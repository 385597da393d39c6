import LiveActivity
import StrictJSON
import TestSupport
import Testing

@testable import HTTPAPI

/// A person asks to be forgotten, and a CRM tags its customers.
@Suite struct ForgetTests {
    private static let token = String(repeating: "0123456789abcdef", count: 10)

    @Test func `a channel that is uninstalled is not known any more, and others are`() async throws {
        try await GatewayFixture.run { gateway in
            for channel in ["device-1", "device-2", "device-3"] { try await Self.follow(gateway, channel, "ann") }
            let body = #"[{"channel_id":"device-1","device_type":"ios"},{"channel_id":"never-seen"}]"#
            let reply = try await gateway.send("POST", "/api/channels/uninstall/", body)
            #expect(reply.status == 202 && reply.text == #"{"ok":true,"unknown":["never-seen"]}"#)
            #expect(try await gateway.send("GET", "/api/channels/device-1").status == 404)
            #expect(try await gateway.send("GET", "/api/channels/device-2").status == 200)
            let one = try await gateway.send("POST", "/api/channels/uninstall", #"{"channel_id":"device-2"}"#)
            #expect(one.status == 202 && one.text == #"{"ok":true}"#)
            let again = try await gateway.send("POST", "/api/channels/uninstall", #"{"channel_id":"device-2"}"#)
            #expect(again.text == #"{"ok":true,"unknown":["device-2"]}"#)
            let user = try await gateway.send("GET", "/api/named_users?id=ann")
            #expect(try user.object.required("named_user").object().required("channel_count").integer() == 1)
        }
    }

    @Test func `a named user that is uninstalled takes all its channels along`() async throws {
        try await GatewayFixture.run { gateway in
            for (channel, user) in [("device-1", "ann"), ("device-2", "ann"), ("device-3", "bob")] {
                try await Self.follow(gateway, channel, user)
            }
            let reply = try await gateway.send(
                "POST", "/api/named_users/uninstall", #"{"named_user_id":["ann","nobody"]}"#)
            #expect(reply.status == 202 && reply.text == #"{"ok":true,"unknown":["nobody"]}"#)
            for (channel, status) in [("device-1", 404), ("device-2", 404), ("device-3", 200)] {
                #expect(try await gateway.send("GET", "/api/channels/\(channel)").status == status)
            }
            #expect(try await gateway.send("GET", "/api/named_users?id=ann").status == 404)
        }
    }

    @Test func `a named user with a device on each platform is forgotten on both`() async throws {
        try await GatewayFixture.run(configure: { $0.apps[0].platforms = [.ios, .android] }) { gateway in
            try await Self.follow(gateway, "phone", "ann")
            let address = "fMEpW9-8T6:APA91b" + String(repeating: "x", count: 130)
            let body =
                #"{"channel":{"device_type":"android","push_address":"\#(address)","set_tags":true,"tags":["t"],"named_user_id":"ann"}}"#
            #expect(try await gateway.send("PUT", "/api/channels/robot", body).status == 200)
            func follow() async throws -> Reply {
                try await gateway.send("PUT", "/api/activities/match-9/channels/robot", #"{"platform":"android"}"#)
            }
            #expect(try await follow().status == 200)
            let reply = try await gateway.send("POST", "/api/named_users/uninstall", #"{"named_user_id":"ann"}"#)
            #expect(reply.status == 202 && reply.text == #"{"ok":true}"#, "\(reply.text)")
            for channel in ["phone", "robot"] {
                #expect(try await gateway.send("GET", "/api/channels/\(channel)").status == 404)
            }
            #expect(try await !gateway.send("GET", "/api/activities/match-9/channels").text.contains("robot"))
            #expect(try await follow().text.contains("the channel has no address yet"), "the address is gone too")
        }
    }

    @Test func `a named user shows its channels and their tags`() async throws {
        try await GatewayFixture.run { gateway in
            for channel in ["device-1", "device-2"] { try await Self.follow(gateway, channel, "ann") }
            let tags = #"{"audience":{"named_user_id":["ann","nobody"]},"add":{"membership":["gold"]}}"#
            let tagged = try await gateway.send("POST", "/api/named_users/tags", tags)
            #expect(tagged.status == 200 && tagged.text.contains("1 of 2 named users have no channel"))
            let reply = try await gateway.send("GET", "/api/named_users?id=ann")
            let user = try reply.object.required("named_user").object()
            #expect(try user.required("named_user_id").string() == "ann")
            let groups = try user.required("tags").object()
            #expect(try groups.required("membership").array().map { try $0.string() } == ["gold"])
            let channels = try user.required("channels").array().map { try $0.object() }
            #expect(try Set(channels.map { try $0.required("channel_id").string() }) == ["device-1", "device-2"])
        }
    }

    @Test(arguments: [
        ("/api/channels/uninstall", "[]", "at least one channel"),
        ("/api/channels/uninstall", #"[{"channel_id":"a","device_type":"web"}]"#, "must be ios, android or amazon"),
        ("/api/channels/uninstall", #"[{"id":"a"}]"#, "id"), ("/api/channels/uninstall", #"["a"]"#, "an object"),
        ("/api/named_users/uninstall", "{}", "named_user_id"),
        ("/api/named_users/uninstall", #"{"named_user_id":[]}"#, "at least one named user"),
        ("/api/named_users/tags", #"{"audience":{"named_user_id":"a"}}"#, "add, remove or set"),
        ("/api/named_users/tags", #"{"audience":{"tag":"a"},"add":{"g":["t"]}}"#, "tag"),
    ])
    func `a body that is wrong is refused, and says why`(path: String, body: String, word: String) async throws {
        try await GatewayFixture.run { gateway in
            let reply = try await gateway.send("POST", path, body)
            #expect(reply.status == 400 && reply.text.contains(word), "\(reply.text)")
        }
    }

    @Test func `channels and users are listed, page by page`() async throws {
        try await GatewayFixture.run { gateway in
            for number in 1...5 { try await Self.follow(gateway, "device-\(number)", "user \(number)") }
            try await gateway.follow("order-2")
            for (path, key, member) in [
                ("/api/channels", "channels", "channel_id"), ("/api/named_users", "named_users", "named_user_id"),
            ] {
                var (found, next) = ([String](), "\(path)?limit=2")
                while true {
                    let reply = try await gateway.send("GET", next)
                    #expect(reply.status == 200, "\(reply.text)")
                    found += try reply.object.required(key).array()
                        .map { try $0.object().required(member).string() }
                    guard let page = try reply.object["next_page"]?.string() else { break }
                    next = String(page[try #require(page.firstRange(of: "/api")).lowerBound...])
                }
                let users = (1...5).map { "user \($0)" }
                let channels = (1...5).map { "device-\($0)" } + ["c"]
                #expect(Set(found) == Set(key == "channels" ? channels : users) && found.count == Set(found).count)
            }
            _ = try await gateway.send("POST", "/api/named_users/uninstall", #"{"named_user_id":"user 3"}"#)
            let users = try await gateway.send("GET", "/api/named_users")
            #expect(!users.text.contains("user 3") && users.text.contains("user 4"))
            #expect(!(try await gateway.send("GET", "/api/channels").text.contains("device-3")))
            #expect(try await gateway.send("GET", "/api/channels?start=7").status == 400)
        }
    }

    @Test func `channels are found by a tag and by how their ids begin`() async throws {
        try await GatewayFixture.run { gateway in
            for number in 1...30 { try await Self.follow(gateway, "phone-\(number)", "user \(number)") }
            for number in 1...9 { try await Self.follow(gateway, "tablet-\(number)", "user \(number)") }
            let gold = #"{"audience":{"ios_channel":["phone-1","phone-2","tablet-1"]},"add":{"device":["gold"]}}"#
            #expect(try await gateway.send("POST", "/api/channels/tags", gold).status == 200)
            let team = #"{"audience":{"ios_channel":["phone-3"]},"add":{"team":["gold"]}}"#
            #expect(try await gateway.send("POST", "/api/channels/tags", team).status == 200)
            for (query, wanted) in [
                ("prefix=tablet-", Set((1...9).map { "tablet-\($0)" })), ("prefix=nobody", []),
                ("tag=gold", ["phone-1", "phone-2", "tablet-1"]), ("tag=gold&group=team", ["phone-3"]),
                ("tag=gold&prefix=phone", ["phone-1", "phone-2"]), ("tag=silver", []),
            ] as [(String, Set<String>)] {
                var (found, next) = ([String](), "/api/channels?limit=2&\(query)")
                while true {
                    let reply = try await gateway.send("GET", next)
                    let page = try reply.object.required("channels").array()
                    #expect(reply.status == 200 && page.count <= 2, "\(reply.text)")
                    found += try page.map { try $0.object().required("channel_id").string() }
                    guard let address = try reply.object["next_page"]?.string() else { break }
                    next = String(address[try #require(address.firstRange(of: "/api")).lowerBound...])
                }
                #expect(Set(found) == wanted && found.count == wanted.count, "\(query): \(found)")
            }
            #expect(try await gateway.send("GET", "/api/channels?tag=gold&start=1.x").status == 400)
            #expect(try await gateway.send("GET", "/api/channels?group=team").status == 400)
        }
    }

    @Test func `only the master secret forgets`() async throws {
        try await GatewayFixture.run { gateway in
            let secret = "\(GatewayFixture.key):\(GatewayFixture.secret)"
            for path in ["channels/uninstall", "named_users/uninstall", "named_users/tags"] {
                let status = try await gateway.send("POST", "/api/\(path)", "{}", user: secret).status
                #expect([401, 403].contains(status))
            }
        }
    }

    private static func follow(_ gateway: GatewayFixture, _ channel: String, _ user: String) async throws {
        let body = #"{"channel":{"device_type":"ios","named_user_id":"\#(user)"}}"#
        #expect(try await gateway.send("PUT", "/api/channels/\(channel)", body).status == 200)
        let path = "/api/activities/order-1/channels/\(channel)"
        #expect(try await gateway.send("PUT", path, #"{"token":"\#(Self.token)"}"#).status == 200)
    }
}
