import LiveActivity
import Redis
import TestSupport
import Testing

@testable import HTTPAPI
@testable import Store

/// Work must not grow faster than what was sent or is listed. Commands and bytes of Redis are counted at 1, 10 and 100
/// times the size, because time depends on the machine. What a parser does without Redis is not seen here.
@Suite struct WorkGrowthTests {
    /// A call of a size, and what has to be there before it.
    struct Growing: Sendable, CustomTestStringConvertible {
        var what: String
        var prepare: @Sendable (GatewayFixture, ConsoleBrowser, Int) async throws -> Void = { _, _, _ in }
        var call: @Sendable (GatewayFixture, ConsoleBrowser, _ csrf: String, Int) async throws -> Reply
        var testDescription: String { what }
    }

    private struct Work { var commands: Int, bytes: Int }

    /// Commands and bytes that a gateway at rest may add.
    private static let noise = Work(commands: 25, bytes: 6_000)

    @Test(arguments: bodies + lists + pages)
    func `ten times the size is at most ten times the work`(growing: Growing) async throws {
        var works: [Work] = []
        for size in [1, 10, 100] {
            try await GatewayFixture.run { gateway in
                let (browser, token) = try await ConsoleBrowser.start(gateway)
                try await growing.prepare(gateway, browser, size)
                // The caches of the first call are no work of the second.
                try await gateway.follow("warm")
                works.append(
                    try await Self.work(gateway) {
                        let reply = try await growing.call(gateway, browser, token, size)
                        #expect((200..<304).contains(reply.status), "\(size): \(reply.status) \(reply.text)")
                    })
            }
        }
        for (less, more) in zip(works, works.dropFirst()) {
            #expect(more.commands <= 10 * less.commands + Self.noise.commands, "\(growing.what): \(works)")
            #expect(more.bytes <= 10 * less.bytes + Self.noise.bytes, "\(growing.what): \(works)")
        }
    }

    private static func work(_ gateway: GatewayFixture, _ body: () async throws -> Void) async throws -> Work {
        let redis = gateway.store.redis
        _ = try await redis.everywhere("CONFIG", "RESETSTAT")
        try await body()
        let stats = try await redis.info(section: "stats")
        func count(_ field: String) -> Int { stats[field].flatMap { Int($0) } ?? 0 }
        let others = ["config", "client", "script", "info"]
        let commands = try await redis.calls().filter { call in !others.contains { call.key.hasPrefix($0) } }
            .values.reduce(0, +)
        return Work(commands: commands, bytes: count("total_net_input_bytes") + count("total_net_output_bytes"))
    }

    private static func post(
        _ what: String, _ path: String, _ body: @escaping @Sendable (Int) -> String
    ) -> Growing {
        Growing(what: what) { gateway, _, _, size in try await gateway.send("POST", path, body(size)) }
    }

    private static func joined(
        _ size: Int, by separator: String = ",", _ text: (Int) -> String
    ) -> String {
        (0..<size).map(text).joined(separator: separator)
    }

    private static let bodies: [Growing] = [
        post("pushes in an array", "/api/push") { size in
            let texts = joined(size) {
                publishText(activity: #"{"name":"n\#($0)","event":"update","content_state":{}}"#)
            }
            return "[\(texts)]"
        },
        post("an audience of tags", "/api/push") { size in
            publishText(audience: #"{"or":[\#(joined(size) { #"{"tag":"t\#($0)"}"# })]}"#)
        },
        post("fields of a state", "/api/push") { size in
            let state = joined(size) { #""field\#($0)":"value\#($0)""# }
            return publishText(activity: #"{"name":"n","event":"update","content_state":{\#(state)}}"#)
        },
        post("schedules", "/api/schedules") { size in
            "[" + joined(size) { AnswersFixture.schedule("n\($0)", at: 19) } + "]"
        },
        post("followers, line by line", "/api/activities/n/channels") { size in
            joined(size, by: "\n") { #"{"channel":"c\#($0)","token":"aa\#($0 + 1_000)"}"# }
        },
        post("lines that are refused", "/api/activities/n/channels") { size in
            joined(size, by: "\n") { #"{"channel":"c\#($0)","tokn":"aa"}"# }
        },
        post("channels, line by line", "/api/channels/bulk") { size in
            joined(size, by: "\n") { #"{"channel":"c\#($0)","add":{"g":["t"]}}"# }
        },
        post("tags of channels", "/api/channels/tags") { size in
            let channels = joined(size) { #""c\#($0)""# }
            return #"{"audience":{"ios_channel":[\#(channels)]},"add":{"g":["t"]}}"#
        },
        post("tags in a call", "/api/channels/tags") { size in
            #"{"audience":{"ios_channel":"c"},"add":{"g":[\#(joined(size) { #""t\#($0)""# })]}}"#
        },
        Growing(what: "a batch of the SDK") { gateway, _, _, size in
            let updates = joined(size) {
                #"{"action":"set","type":"update_token","id":"A","name":"n\#($0)","token":"aa","action_ts_ms":1795284000000}"#
            }
            return try await gateway.send(
                "PUT", "/api/channels/sdk/batch/c", #"{"live_activities":[\#(updates)]}"#)
        },
    ]

    private static func list(
        _ path: String, _ prepare: @escaping @Sendable (GatewayFixture, Int) async throws -> Void
    ) -> Growing {
        Growing(
            what: path, prepare: { gateway, _, size in try await prepare(gateway, size) },
            call: { gateway, browser, _, _ in
                path.hasPrefix("/console") ? try await browser.get(path) : try await gateway.send("GET", path)
            })
    }

    private static func withPushes(_ gateway: GatewayFixture, _ size: Int) async throws {
        for start in stride(from: 0, to: size, by: 50) {
            let texts = joined(min(50, size - start)) {
                publishText(activity: #"{"name":"n\#(start + $0)","event":"update","content_state":{}}"#)
            }
            #expect(try await gateway.publish("[\(texts)]").status == 202)
        }
    }

    private static func withFollowers(_ gateway: GatewayFixture, _ size: Int) async throws {
        let lines = joined(size, by: "\n") { #"{"channel":"c\#($0)","token":"aa\#($0 + 1_000)"}"# }
        #expect(try await gateway.send("POST", "/api/activities/n/channels", lines).status == 200)
    }

    private static func withSchedules(_ gateway: GatewayFixture, _ size: Int) async throws {
        let texts = joined(size) { AnswersFixture.schedule("n\($0)", at: 19) }
        #expect(try await gateway.send("POST", "/api/schedules", "[\(texts)]").status == 201)
    }

    private static let lists: [Growing] = [
        list("/api/pushes?limit=1000", withPushes), list("/api/activities?limit=1000", withPushes),
        list("/api/activities/n/channels?limit=1000", withFollowers), list("/api/schedules?limit=100", withSchedules),
        list("/console", withPushes), list("/console/names", withPushes), list("/console/pushes", withPushes),
        list("/console/pushes?as=csv", withPushes), list("/console/pushes?as=csv&person=nobody", withPushes),
        list("/console/schedules", withSchedules), list("/console/schedules?as=csv", withSchedules),
        list("/console/actions?as=csv", withSchedules), list("/console/names/n", withFollowers),
    ]

    private static let fields: [(String, String)] = [
        ("name", "match-1"), ("event", "update"), ("audience", "all"), ("state", "{}"), ("priority", "10"),
    ]

    private static let pages: [Growing] = [
        Growing(what: "fields of Compose") { _, browser, token, size in
            let own = (0..<size).map { ("f:field\($0)", "value") }
            return try await browser.post("/console/compose/check", [("csrf", token)] + fields + own)
        },
        Growing(what: "a long state in Compose") { _, browser, token, size in
            let state = "{" + joined(size) { #""field\#($0)":"\#(String(repeating: "x", count: 20))""# } + "}"
            let others = fields.filter { $0.0 != "state" }
            return try await browser.post("/console/compose/check", [("csrf", token), ("state", state)] + others)
        },
        Growing(
            what: "boxes of schedules",
            prepare: { gateway, _, size in try await withSchedules(gateway, size) },
            call: { gateway, browser, token, size in
                let ids = try await gateway.store.schedules.list(try gateway.app, start: nil, limit: 1_000).schedules
                return try await browser.post(
                    "/console/schedules", [("csrf", token)] + ids.map { ("entry", $0.id.description) })
            }),
    ]
}
