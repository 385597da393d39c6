import LiveActivity
import StrictJSON
import TestSupport
import Testing

@testable import HTTPAPI
@testable import Store

/// `POST /api/channels/bulk`: tags and named users, one channel a line.
@Suite struct BulkChannelsTests {
    private static let path = "/api/channels/bulk"

    @Test func `a dry run tells the bad lines and changes nothing`() async throws {
        try await GatewayFixture.run { gateway in
            let before = try await gateway.store.redis.keyCount()
            for (path, good, bad) in [
                (Self.path, #"{"channel":"a","named_user_id":"ann"}"#, #"{"channel":"b"}"#),
                ("/api/activities/match-42/channels", #"{"channel":"a","token":"abcd"}"#, #"{"channel":"b"}"#),
                ("/api/start-tokens/Match/channels", #"{"channel":"a","token":"abcd"}"#, #"{"channel":"b"}"#),
            ] {
                let reply = try await gateway.send("POST", path + "?dry_run=true", "\(good)\n\(bad)\n")
                #expect(reply.status == 200, "\(reply.text)")
                #expect(try reply.integer("accepted") == 1 && Self.rejected(reply) == [2], "\(reply.text)")
                #expect(try await gateway.store.redis.keyCount() == before, "\(path)")
                let wrong = try await gateway.send("POST", path + "?dry_run=maybe", good)
                #expect(wrong.status == 400 && wrong.text.contains("dry_run"))
            }
        }
    }

    @Test func `lines tag channels and give them users, and each bad line is told`() async throws {
        try await GatewayFixture.run { gateway in
            let lines = [
                #"{"channel":"a","add":{"membership":["gold"]},"named_user_id":"ann"}"#,
                #"{"channel":"b","named_user_id":"bob"}"#,
                "",
                #"{"channel":"c"}"#,
                #"{"channel":"","add":{"g":["t"]}}"#,
                #"{"channel":"d","tags":["t"]}"#,
                #"{"channel":"d","add":{"g":["t"]},"set":{"g":["u"]}}"#,
                #"{"channel":"a","remove":{"membership":["gold"]},"set":{"city":["paris"]}}"#,
                #"{"channel":"b","named_user_id":null}"#,
            ]
            let reply = try await gateway.send("POST", Self.path, lines.joined(separator: "\n"))
            #expect(reply.status == 200)
            #expect(try reply.integer("accepted") == 4 && reply.integer("rejected_count") == 4, "\(reply.text)")
            #expect(try Self.rejected(reply) == [4, 5, 6, 7])
            #expect(reply.text.contains("must have add, remove, set or named_user_id"))
            #expect(!reply.text.contains("stale"))
            let ann = try await gateway.send("GET", "/api/named_users?id=ann").text
            #expect(ann.contains(#""tags":{"city":["paris"]}"#), "\(ann)")
            #expect(try await gateway.send("GET", "/api/named_users?id=bob").status == 404)
        }
    }

    @Test func `a channel with too many tags is refused by its line, whatever batch it is in`() async throws {
        try await GatewayFixture.run { gateway in
            let many = Set((0..<gateway.store.channels.maximumTags).map { ExactText("t\($0)") })
            var change = TagChange()
            change.add = ["full": many]
            try await gateway.store.channels.tag(try gateway.app, [ChannelID("full")], change)
            var lines = (1...2_100).map { #"{"channel":"c\#($0)","add":{"g":["t"]}}"# }
            lines[1_499] = #"{"channel":"full","add":{"g":["t"]}}"#
            lines[1_500] = "nothing"
            let reply = try await gateway.send("POST", Self.path, lines.joined(separator: "\n"))
            #expect(try reply.integer("accepted") == 2_098 && Self.rejected(reply) == [1_500, 1_501], "\(reply.text)")
            #expect(reply.text.contains("more than 1000 tags"))
        }
    }

    @Test func `a full quota ends the call, says how far it came, and needs the master secret`() async throws {
        try await GatewayFixture.run(quotas: [.channels: 1]) { gateway in
            let line = #"{"channel":"a","add":{"g":["t"]}}"#
            #expect(try await gateway.send("POST", Self.path, line).status == 200)
            let reply = try await gateway.send("POST", Self.path, #"{"channel":"b","add":{"g":["t"]}}"#)
            #expect(try reply.status == 429 && reply.integer("lines_applied") == 0, "\(reply.text)")
            let app = "\(GatewayFixture.key):\(GatewayFixture.secret)"
            #expect(try await gateway.send("POST", Self.path, line, user: app).status == 401)
        }
    }

    private static func rejected(_ reply: Reply) throws -> [Int] {
        try reply.object.required("rejected").array().map { Int(try $0.object().required("line").integer()) }
    }
}
