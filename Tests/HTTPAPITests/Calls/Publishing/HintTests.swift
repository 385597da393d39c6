import LiveActivity
import Store
import StrictJSON
import TestSupport
import Testing

@testable import HTTPAPI

/// Tests the hints for the publisher of a name without followers.
@Suite struct HintTests {
    @Test func `a publish to a name that nobody follows says so, with the names it may be a slip for`() async throws {
        try await GatewayFixture.run { gateway in
            for name in ["order-1234", "order-1235", "match-42"] { try await gateway.follow(name) }
            // This name has a push but no followers, so it is no suggestion.
            _ = try await gateway.publish(body("ordr-1235"))
            let headers = [("Idempotency-Key", "k")]
            for _ in 0..<2 {
                let reply = try await gateway.publish(body("ordr-1234"), headers: headers)
                #expect(reply.status == 202)
                #expect(
                    try warnings(reply) == [
                        #""ordr-1234" has no followers; similar names with followers: "order-1234", "order-1235""#
                    ])
            }
            #expect(
                try await told(gateway, body("delivery 7"))
                    == [#""delivery 7" has no followers; no similar name has any"#])
            #expect(try await told(gateway, body("order-1234")).isEmpty)
            // The log holds no names.
            for line in gateway.log.all { #expect(!line.contains("order-") && !line.contains("ordr-"), "\(line)") }
        }
    }

    @Test func `a look at an unknown name tells the similar ones`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("order-1234")
            for (name, end) in [
                ("ordr-1234", #"no pushes; similar names with followers: "order-1234""#),
                ("delivery", "no pushes. Check its spelling."),
            ] {
                let reply = try await gateway.send("GET", "/api/activities/\(name)", "")
                #expect(reply.status == 404)
                #expect(try reply.string("error").hasSuffix(end), "\(reply.text)")
            }
        }
    }

    @Test func `a dry run gives the hints that the publish gives`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("order-1234")
            for name in ["ordr-1234", "order-1234", "delivery 7"] {
                let dry = try await gateway.send("POST", "/api/push/validate", body(name))
                #expect(dry.status == 200)
                #expect(try await warnings(dry) == told(gateway, body(name)))
            }
        }
    }

    @Test func `a channel that stopped following is no follower`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("order-1234")
            _ = try await gateway.send("DELETE", "/api/activities/order-1234/channels/c")
            #expect(try await told(gateway, body("order-1234")).count == 1)
        }
    }

    @Test func `a start begins a name, and a broadcast channel follows it`() async throws {
        let start =
            #"{"name":"match-1","event":"start","content_state":{},"alert":{"title":"t"},"attributes_type":"T","attributes":{}}"#
        try await GatewayFixture.run { gateway in
            #expect(try await told(gateway, publishText(activity: start)).isEmpty)
            // The devices of this name have not reported their tokens yet.
            #expect(try await told(gateway, body("match-1")).isEmpty)
            let other = start.replacing("match-1", with: "match-2")
            let both = "[\(publishText(activity: other)),\(body("match-2")),\(body("nobody's"))]"
            let all = try await told(gateway, both)
            #expect(all.count == 1 && all[0].hasPrefix(#"[2]: "nobody's" has no followers"#), "\(all)")
            let made = try await gateway.send("PUT", "/api/activities/match-3/broadcast?wait=0", "{}")
            #expect(made.status == 202)
            #expect(try await told(gateway, body("match-3")).isEmpty)
        }
    }

    @Test func `a flood of publishes to names that nobody follows searches for names like them a few times`()
        async throws
    {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("order-1234")
            // Its clock stands still, so all of this is one window.
            for _ in 0..<3 {
                #expect(
                    try await told(gateway, body("ordr-1234"))
                        == [#""ordr-1234" has no followers; similar names with followers: "order-1234""#])
            }
            #expect(try await searches(gateway) == 1)
            for number in 0..<3 * NearNames.mostSearches {
                let told = try await told(gateway, body("feed \(number)"))
                #expect(told.count == 1 && told[0].hasPrefix(#""feed \#(number)" has no followers"#), "\(told)")
            }
            #expect(try await searches(gateway) == NearNames.mostSearches)
            // The warning does not claim what nobody looked up.
            #expect(try await told(gateway, body("ordr-12345")) == [#""ordr-12345" has no followers"#])
            // And it ends with the first follower.
            try await gateway.follow("feed-7")
            #expect(try await told(gateway, body("feed-7")).isEmpty)
        }
    }

    @Test func `a credential learns of no names that are not its own, and of none without the scope read`() async throws
    {
        try await GatewayFixture.run { gateway in
            for name in ["inside-1234", "insidf-secret", "inside-secret"] { try await gateway.follow(name) }
            func told(_ name: String, _ id: String, _ rights: String) async throws -> [String] {
                let secret = try await CredentialTests.create(gateway, #"{"id":"\#(id)",\#(rights)}"#)
                return try warnings(
                    await gateway.send(
                        "POST", "/api/push/validate", body(name), user: "\(GatewayFixture.key)/\(id):\(secret)"))
            }
            let inside = #""name_prefix":"inside-","scopes":["publish","read"]"#
            #expect(
                try await told("inside-secre", "a", inside)
                    == [#""inside-secre" has no followers; similar names with followers: "inside-secret""#])
            #expect(try await told("inside-zzzzzz", "b", inside) == [#""inside-zzzzzz" has no followers"#])
            #expect(
                try await told("inside-secre", "c", #""scopes":["publish"]"#)
                    == [#""inside-secre" has no followers"#])
            let all = try await told("inside-secre", "d", #""scopes":["publish","read"]"#)
            #expect(all.count == 1 && all[0].contains("insidf-secret"), "\(all)")
        }
    }

    /// The searches are the only use of ZMSCORE here.
    private func searches(_ gateway: GatewayFixture) async throws -> Int {
        try await gateway.store.redis.calls(of: "zmscore")
    }

    @Test func `a window of searches ends, and an app's searches are its own`() async throws {
        let names = NearNames()
        let (shop, bank) = (try AppKey("shop"), try AppKey("bank"))
        func near(_ name: String, _ app: AppKey, at now: Int64) async throws -> [String]? {
            await names.near(try ActivityName(name), app, now: now) { ["\(name)!"] }
        }
        for number in 0..<NearNames.mostSearches { #expect(try await near("\(number)", shop, at: 5) == ["\(number)!"]) }
        #expect(try await near("more", shop, at: 5) == nil)
        #expect(try await near("0", shop, at: 5) == ["0!"])
        #expect(try await near("more", bank, at: 5) == ["more!"])
        #expect(try await near("more", shop, at: 4 + NearNames.window) == nil)
        #expect(try await near("more", shop, at: 5 + NearNames.window) == ["more!"])
        // The clock was set back.
        #expect(try await near("again", shop, at: 0) == ["again!"])
        let failed = await names.near(try ActivityName("failed"), bank, now: 5) { nil }
        #expect(failed == nil)
        #expect(try await near("failed", bank, at: 5) == ["failed!"])
    }

    private func body(_ name: String) -> String {
        publishText(activity: #"{"name":"\#(name)","event":"update","content_state":{}}"#)
    }

    private func told(_ gateway: GatewayFixture, _ body: String) async throws -> [String] {
        try warnings(await gateway.publish(body))
    }

    private func warnings(_ reply: Reply) throws -> [String] {
        try reply.object["warnings"]?.array().map { try $0.string() } ?? []
    }
}
