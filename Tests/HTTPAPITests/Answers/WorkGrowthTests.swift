import LiveActivity
import Redis
import StoreRegistry
import StrictJSON
import TestSupport
import Testing

@testable import Console
@testable import HTTPAPI
@testable import Store

/// Work must not grow faster than what was sent or is listed. Counted are commands and bytes of Redis, and members and
/// fields that are looked at (`Looks`), at 1, 10 and 100 times the size, because time depends on the machine.
@Suite struct WorkGrowthTests {
    /// A call of a size, and what has to be there before it.
    struct Growing: Sendable, CustomTestStringConvertible {
        var what: String
        /// Each change of a set of channels looks at some of its members (`Channels.tidy`), and at no more.
        var looksAtMembers = false
        var prepare: @Sendable (GatewayFixture, ConsoleBrowser, Int) async throws -> Void = { _, _, _ in }
        var call: @Sendable (GatewayFixture, ConsoleBrowser, _ csrf: String, Int) async throws -> Reply
        var testDescription: String { what }
    }

    struct Work { var commands: Int, bytes: Int, looks: Int }

    /// Commands and bytes that a gateway at rest may add, and looks that do not depend on the size.
    private static let noise = Work(commands: 25, bytes: 6_000, looks: 1_000)

    @Test(arguments: bodies + pages)
    func `ten times the size is at most ten times the work`(growing: Growing) async throws {
        var works: [Work] = []
        for size in [1, 10, 100] {
            try await Self.run { gateway, looks in
                let (browser, token) = try await ConsoleBrowser.start(gateway)
                try await growing.prepare(gateway, browser, size)
                // The caches of the first call are no work of the second.
                try await gateway.follow("warm")
                works.append(
                    try await Self.work(gateway, looks) {
                        let reply = try await growing.call(gateway, browser, token, size)
                        #expect((200..<304).contains(reply.status), "\(size): \(reply.status) \(reply.text)")
                    })
            }
        }
        Self.check(works, growing.what, members: growing.looksAtMembers ? Channels.sample : 0)
        #expect(works.allSatisfy { $0.looks > 0 }, "the tasks of the gateway count their looks")
    }

    /// - Parameter members: for each entry, so many members of a set are looked at, of 100 bytes at most
    private static func check(_ works: [Work], _ what: String, members: Int = 0) {
        for ((less, more), size) in zip(zip(works, works.dropFirst()), [10, 100]) {
            #expect(fits(less, more, looked: members * size), "\(what): \(works)")
        }
    }

    private static func fits(_ less: Work, _ more: Work, looked: Int = 0) -> Bool {
        more.commands <= 10 * less.commands + noise.commands + looked
            && more.bytes <= 10 * less.bytes + noise.bytes + 100 * looked
            && more.looks <= 10 * less.looks + noise.looks
    }

    private static func run(_ body: (GatewayFixture, Looks.Counter) async throws -> Void) async throws {
        let looks = Looks.Counter()
        try await Looks.$counter.withValue(looks) {
            try await GatewayFixture.run(configure: { $0.apps[0].takesReceipts = true }) { gateway in
                try await body(gateway, looks)
            }
        }
    }

    private static func work(
        _ gateway: GatewayFixture, _ looks: Looks.Counter, _ body: () async throws -> Void
    ) async throws -> Work {
        let redis = gateway.store.redis
        _ = try await redis.everywhere("CONFIG", "RESETSTAT")
        let before = looks.count
        try await body()
        let looks = looks.count - before
        let stats = try await redis.info(section: "stats")
        func count(_ field: String) -> Int { stats[field].flatMap { Int($0) } ?? 0 }
        let others = ["config", "client", "script", "info"]
        let commands = try await redis.calls().filter { call in !others.contains { call.key.hasPrefix($0) } }
            .values.reduce(0, +)
        return Work(
            commands: commands, bytes: count("total_net_input_bytes") + count("total_net_output_bytes"), looks: looks)
    }

    private static func post(
        _ what: String, _ path: String, looksAtMembers: Bool = false,
        _ body: @escaping @Sendable (Int) -> String
    ) -> Growing {
        Growing(what: what, looksAtMembers: looksAtMembers) { gateway, _, _, size in
            try await gateway.send("POST", path, body(size))
        }
    }

    /// A call about users, each of whom has a channel with a tag.
    private static func ofUsers(
        _ what: String, _ path: String, _ body: @escaping @Sendable (Int) -> String
    ) -> Growing {
        var growing = post(what, path, looksAtMembers: true, body)
        growing.prepare = { gateway, _, size in try await withUsers(gateway, size) }
        return growing
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
        Growing(what: "a batch of the SDK") { gateway, _, _, size in try await batch(gateway, size, "set") },
        Growing(
            what: "a batch of the SDK that removes",
            prepare: { gateway, _, size in _ = try await batch(gateway, size, "set") },
            call: { gateway, _, _, size in try await batch(gateway, size, "remove") }),
        Growing(what: "receipts") { gateway, _, _, size in
            let id = try await gateway.publish(publishText()).strings("push_ids")[0]
            let receipts = joined(size) { #"{"push_id":"\#(id)","event":"shown","channel_id":"c\#($0)"}"# }
            return try await gateway.send("POST", "/api/receipts", #"{"receipts":[\#(receipts)]}"#)
        },
        post("start tokens, line by line", "/api/start-tokens/T/channels") { size in
            joined(size, by: "\n") { #"{"channel":"c\#($0)","token":"aa\#($0 + 1_000)"}"# }
        },
        ofUsers("channels to forget", "/api/channels/uninstall") { size in
            "[" + joined(size) { #"{"channel_id":"c\#($0)"}"# } + "]"
        },
        ofUsers("users to forget", "/api/named_users/uninstall") { size in
            #"{"named_user_id":[\#(joined(size) { #""u\#($0)""# })]}"#
        },
        ofUsers("tags of users", "/api/named_users/tags") { size in
            #"{"audience":{"named_user_id":[\#(joined(size) { #""u\#($0)""# })]},"add":{"g":["x"]}}"#
        },
        post("channels of a user", "/api/named_users/u", looksAtMembers: true) { size in
            #"{"associate":[\#(joined(size) { #"{"channel_id":"c\#($0)","device_type":"ios"}"# })]}"#
        },
    ]

    private static func batch(_ gateway: GatewayFixture, _ size: Int, _ action: String) async throws -> Reply {
        let time = action == "set" ? testNow - 1 : testNow
        let updates = joined(size) {
            #"{"action":"\#(action)","type":"update_token","id":"A","name":"n\#($0)","token":"aa","action_ts_ms":\#(time)}"#
        }
        return try await gateway.send("PUT", "/api/channels/sdk/batch/c0", #"{"live_activities":[\#(updates)]}"#)
    }

    private static func withPushes(_ gateway: GatewayFixture, _ size: Int) async throws {
        for start in stride(from: 0, to: size, by: 50) {
            let texts = joined(min(50, size - start)) {
                publishText(activity: #"{"name":"n\#(start + $0)","event":"update","content_state":{}}"#)
            }
            #expect(try await gateway.publish("[\(texts)]").status == 202)
        }
    }

    /// Each user has a channel with a tag.
    private static func withUsers(_ gateway: GatewayFixture, _ size: Int) async throws {
        let lines = joined(size, by: "\n") { #"{"channel":"c\#($0)","add":{"g":["t"]},"named_user_id":"u\#($0)"}"# }
        #expect(try await gateway.send("POST", "/api/channels/bulk", lines).status == 200)
    }

    private static func withSchedules(_ gateway: GatewayFixture, _ size: Int) async throws {
        let texts = joined(size) { AnswersFixture.schedule("n\($0)", at: 19) }
        #expect(try await gateway.send("POST", "/api/schedules", "[\(texts)]").status == 201)
    }

    private static let fields: [(String, String)] = [
        ("name", "match-1"), ("event", "update"), ("audience", "all"), ("state", "{}"), ("priority", "10"),
    ]

    private static let pages: [Growing] = [
        Growing(what: "fields of Compose") { _, browser, token, size in
            let own = (0..<size * 10).map { ("f:field\($0)", "value") }
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

    /// Lists that are empty here, and pages about something that is not here.
    private static let absent: Set<String> = [
        "/api/activities/{name}/broadcast", "/api/push/{push_id}/trace", "/api/proposals/{proposal_id}",
        "/api/sketches/{attributes_type}", "/api/webhook", "/api/webhook/dead", "/console/proposals/{proposal}",
        "/console/compose/publish",
    ]
    /// Calls with a proof that the master secret is not, and streams.
    private static func isLeftOut(_ pattern: String) -> Bool {
        pattern.hasSuffix("/live") || pattern.hasPrefix("/api/auth/") || pattern.hasPrefix("/api/remote-data/")
    }

    @Test func `each list and each page grows no faster than its entries`() async throws {
        let patterns =
            (Endpoint.all.filter { $0.method == "GET" }.map(\.pattern)
            + Route.all.filter { $0.method == "GET" }.map(\.pattern)).filter { !Self.isLeftOut($0) }
        var works: [String: [Work]] = [:]
        var missing: Set<String> = []
        for size in [1, 10, 100] {
            try await Self.run { gateway, looks in
                let (browser, _) = try await ConsoleBrowser.start(gateway)
                let parameters = try await Self.fill(gateway, size)
                for pattern in patterns {
                    let path = try #require(Self.path(pattern, parameters), "\(pattern): what is its parameter?")
                    let isPage = pattern.hasPrefix("/console")
                    let queries = isPage ? ["", "?as=csv", "?as=csv&person=nobody"] : ["?limit=1000"]
                    for query in queries {
                        func measured() async throws -> Work {
                            try await Self.work(gateway, looks) {
                                let reply =
                                    isPage
                                    ? try await browser.get(path + query)
                                    : try await gateway.send("GET", path + query)
                                if reply.status >= 400 { missing.insert(pattern) }
                                #expect(reply.status < 500, "\(path): \(reply.status) \(reply.text)")
                            }
                        }
                        var work = try await measured()
                        // On a busy machine a timer of the gateway may come in between. It does not come twice.
                        if let before = works[path + query]?.last, !Self.fits(before, work) {
                            work = try await measured()
                        }
                        works[path + query, default: []].append(work)
                    }
                }
            }
        }
        #expect(missing.subtracting(Self.absent).isEmpty)
        for (path, works) in works { Self.check(works, path) }
    }

    /// Fills a gateway with so many entries of each list that a caller can make.
    /// - Returns: the parameters of paths
    private static func fill(_ gateway: GatewayFixture, _ size: Int) async throws -> [String: String] {
        try await withPushes(gateway, size)
        try await withSchedules(gateway, size)
        try await withUsers(gateway, size)
        #expect(try await batch(gateway, size, "set").status == 200)
        let lines = joined(size, by: "\n") { #"{"channel":"c\#($0)","token":"aa\#($0 + 1_000)"}"# }
        for place in ["activities/n0", "start-tokens/T0"] {
            #expect(try await gateway.send("POST", "/api/\(place)/channels", lines).status == 200)
        }
        for number in 0..<size {
            let entries = [
                ("POST", "/api/pause", #"{"name":"p\#(number)"}"#),
                ("POST", "/api/credentials", #"{"id":"k\#(number)","scopes":["read"]}"#),
                ("PUT", "/api/schemas/T\(number)", #"{"content_state":true}"#),
                ("PUT", "/api/activities/b\(number)/broadcast?wait=0", "{}"),
            ]
            for (method, path, body) in entries {
                let reply = try await gateway.send(method, path, body)
                #expect((200..<300).contains(reply.status), "\(path): \(reply.text)")
            }
            _ = try await gateway.deadLetter("x\(number)")
        }
        let push = try await gateway.publish(publishText()).strings("push_ids")[0]
        let schedule = try await gateway.send("POST", "/api/schedules", AnswersFixture.schedule("n0", at: 20))
            .strings("schedule_ids")[0]
        return [
            "push_id": push, "push": push, "schedule_id": schedule, "channel": "c0", "device": "c0", "name": "n0",
            "attributes_type": "T0", "type": "T0", "proposal_id": schedule, "proposal": schedule,
            "/api/dead/{push_id}": try await gateway.deadLetter("x").description,
        ]
    }

    /// Nil: nobody says what a parameter of the path is.
    private static func path(_ pattern: String, _ parameters: [String: String]) -> String? {
        if pattern == "/api/dead/{push_id}" { return parameters[pattern].map { "/api/dead/\($0)" } }
        var parts: [String] = []
        for part in pattern.split(separator: "/") {
            guard part.first == "{" else {
                parts.append(String(part))
                continue
            }
            guard let value = parameters[String(part.dropFirst().dropLast())] else { return nil }
            parts.append(value)
        }
        return "/" + parts.joined(separator: "/")
    }

    @Test func `a room reads no body of a schedule that it does not show, and few of those that wait`() async throws {
        let length = 3_000
        var works: [Work] = []
        for size in [1, 100] {
            try await Self.run { gateway, looks in
                let (browser, _) = try await ConsoleBrowser.start(gateway)
                let state = #"{"text":"\#(String(repeating: "x", count: length))"}"#
                let push = publishText(activity: #"{"name":"n","event":"update","content_state":\#(state)}"#)
                let body = Self.joined(size) { _ in
                    #"{"schedule":{"scheduled_time":"2026-11-21T19:00:00"},"push":\#(push)}"#
                }
                let over = try await gateway.send("POST", "/api/schedules", "[\(body)]")
                for id in try over.strings("schedule_ids") {
                    #expect(try await gateway.send("DELETE", "/api/schedules/\(id)").status == 204)
                }
                #expect(try await gateway.send("POST", "/api/schedules", "[\(body)]").status == 201)
                works.append(
                    try await Self.work(gateway, looks) {
                        let room = try await browser.get("/console/names/n")
                        #expect(room.status == 200, "\(room.text)")
                    })
            }
        }
        // A record has the body twice, as it was posted and as it goes out. A look at a schedule costs less than 300
        // bytes.
        let most = WaitingPush.mostSchedules * (2 * length + 3_000) + 200 * 300
        #expect(works[1].bytes - works[0].bytes < most, "\(works)")
        #expect(works[1].commands - works[0].commands < 200 + WaitingPush.mostSchedules + 25, "\(works)")
    }
}
