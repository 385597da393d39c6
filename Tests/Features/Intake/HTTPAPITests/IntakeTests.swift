import LiveActivity
import Redis
import ServiceLifecycle
import StrictJSON
import TestSupport
import Testing

@testable import HTTPAPI
@testable import Store

/// Publishers that write into Redis in place of calling HTTP.
@Suite struct IntakeTests {
    @Test func `what is written is published in order, and answered`() async throws {
        try await GatewayFixture.run(configure: { $0.readsIntake = true }) { gateway in
            let keys = gateway.store.keys
            let app = try gateway.app
            var entries: [String] = []
            for number in 0..<40 { entries.append(try await write(Self.push("a", number), gateway)) }
            try await eventually("all are answered") { try await length(keys.intakeDone(app), gateway) == 40 }
            let done = try await answers(keys.intakeDone(app), gateway)
            var ids: [String] = []
            for (entry, answer) in zip(entries, done) {
                #expect(answer["id"] == entry && answer["status"] == "202")
                let body = try JSONDocument(Array((answer["answer"] ?? "").utf8)).root.object()
                ids += try body.required("push_ids").array().map { try $0.string() }
            }
            let name = try ActivityName("a")
            let history = try await gateway.store.pushes.history(app, of: name, PushFilter(), after: nil, limit: 100)
            #expect(history.pushes.map(\.id.description) == ids.reversed(), "in the order of the stream")
            #expect(try await length(keys.intake(app), gateway) == 0)
        }
    }

    @Test func `what is wrong is rejected as HTTP would, and holds up nothing`() async throws {
        try await GatewayFixture.run(configure: { $0.readsIntake = true }) { gateway in
            let (keys, app) = (gateway.store.keys, try gateway.app)
            _ = try await write("{}", gateway)
            _ = try await write("not JSON", gateway)
            _ = try await write(nil, gateway, ["body", "{}"])
            _ = try await write(Self.push("a", 2), gateway, ["key", "é"])
            _ = try await write(nil, gateway, [.string(String(repeating: "f", count: 200_000)), "x"])
            _ = try await write(Self.push("a", 3), gateway, ["key", "one", "key", "two"])
            _ = try await write(Self.push("a", 3), gateway, ["push", .string(Self.push("a", 4))])
            _ = try await write(Self.push("a", 3), gateway)
            try await eventually("the good one is published") { try await length(keys.intakeDone(app), gateway) == 1 }
            let rejected = try await answers(keys.intakeRejected(app), gateway)
            #expect(rejected.map { $0["status"] } == Array(repeating: "400", count: 7))
            #expect(
                rejected[4]["answer"].map { $0.utf8.count < 1_000 } == true, "the writer chooses the name of a field")
            #expect(rejected[2]["answer"]?.contains("the entry has body") == true)
            #expect(rejected[3]["answer"]?.contains("Idempotency-Key") == true)
            #expect(rejected[5]["answer"]?.contains("key") == true && rejected[6]["answer"]?.contains("push") == true)
            #expect(gateway.log.all.contains { $0.contains("an entry of the intake is rejected") })
            let metrics = try await gateway.send("GET", "/metrics").text
            for (outcome, count) in [("accepted", 1), ("rejected", 7)] {
                let labels = #"app="\#(app)",outcome="\#(outcome)""#
                #expect(metrics.contains("lamplighter_intake_total{\(labels)} \(count)\n"))
            }
        }
    }

    @Test func `a name that is full holds up no other, and its own entries keep their order`() async throws {
        try await GatewayFixture.run(configure: { $0.readsIntake = true }) { gateway in
            let (keys, app) = (gateway.store.keys, try gateway.app)
            let unswept = keys.unswept(keys.tag(app, try ActivityName("full")))
            #expect(try await gateway.publish(Self.push("full", -1)).status == 202)
            let fillers = (0..<999).flatMap { [RedisArgument.int($0 - 2_000), .string("filler-\($0)")] }
            try await gateway.store.redis.send(RedisCommand("ZADD", unswept, fillers))
            // An update for some does not supersede the one for all that waits, so it needs room. Later ones would.
            let activity = #"{"name":"full","event":"update","content_state":{"n":0}}"#
            let forSome = publishText(audience: #"{"tag":"vip"}"#, activity: activity)
            for _ in 0..<3 { _ = try await write(forSome, gateway) }
            // More than one read of the stream.
            for number in 0..<150 { _ = try await write(Self.push("full", 3 + number), gateway) }
            for number in 0..<5 { _ = try await write(Self.push("other", number), gateway) }
            try await eventually("the others are answered") { try await length(keys.intakeDone(app), gateway) == 5 }
            #expect(try await length(keys.intake(app), gateway) == 153)
            try await gateway.store.redis.send(RedisCommand("DEL", unswept))
            try await eventually("the rest is answered") { try await length(keys.intakeDone(app), gateway) == 158 }
            let ids = try await answers(keys.intakeDone(app), gateway).map { answer in
                let body = try JSONDocument(Array((answer["answer"] ?? "").utf8)).root.object()
                return try body.required("push_ids").array()[0].string()
            }
            let history = try await gateway.store.pushes.history(
                app, of: try ActivityName("full"), PushFilter(), after: nil, limit: 200)
            #expect(history.pushes.prefix(153).map(\.id.description) == ids.dropFirst(5).reversed())
            #expect(try await length(keys.intakeRejected(app), gateway) == 0)
        }
    }

    @Test func `what a bridge adds is ignored, and its entries keep their order`() async throws {
        try await GatewayFixture.run(configure: { $0.readsIntake = true }) { gateway in
            let (keys, app) = (gateway.store.keys, try gateway.app)
            for number in 0..<10 { for bridge in Bridge.all { try await bridge.write(number, gateway) } }
            try await eventually("all are answered") { try await length(keys.intakeDone(app), gateway) == 30 }
            #expect(try await length(keys.intakeRejected(app), gateway) == 0)
            for bridge in Bridge.all {
                let recipe = try Repository.text("config/bridges/\(bridge.recipe)")
                for line in bridge.lines { #expect(recipe.contains(line), "\(bridge.recipe) lacks \(line)") }
                let history = try await gateway.store.pushes.history(
                    app, of: try ActivityName(bridge.name), PushFilter(), after: nil, limit: 100)
                #expect(history.pushes.count == 10)
                let first = try await gateway.send("GET", "/api/push/\(history.pushes[0].id)/content").text
                #expect(first.contains(#""n":9"#), "the newest is the last one: \(first)")
            }
        }
    }

    @Test func `a record that a bridge repeats with its key is published once`() async throws {
        try await GatewayFixture.run(configure: { $0.readsIntake = true }) { gateway in
            let (keys, app) = (gateway.store.keys, try gateway.app)
            for bridge in Bridge.all where bridge.hasKey {
                for _ in 0..<2 { try await bridge.write(1, gateway) }
            }
            try await eventually("all are answered") { try await length(keys.intakeDone(app), gateway) == 4 }
            #expect(try await gateway.store.pushes.kept(app) == 2)
            let ids = try await answers(keys.intakeDone(app), gateway).map { $0["answer"] ?? "" }
            func pushIDs(_ text: String) throws -> String {
                try JSONDocument(Array(text.utf8)).root.object().required("push_ids").array()[0].string()
            }
            #expect(try pushIDs(ids[0]) == pushIDs(ids[1]) && pushIDs(ids[2]) == pushIDs(ids[3]))
        }
    }

    @Test func `the lag is told, also of an intake that no gateway reads`() async throws {
        try await GatewayFixture.run { gateway in
            let app = try gateway.app
            func metrics() async throws -> String { try await gateway.send("GET", "/metrics", user: nil).text }
            #expect(try await metrics().contains(#"lamplighter_fleet_intake_oldest_seconds{app="\#(app)"} 0"#))
            let key = gateway.store.keys.intake(app)
            let fields: [RedisArgument] = ["1000-0", "push", "{}"]
            try await gateway.store.redis.send(RedisCommand("XADD", key, fields))
            for number in 0..<2 { _ = try await write(Self.push("a", number), gateway) }
            let behind = try await metrics()
            #expect(behind.contains(#"lamplighter_fleet_intake_waiting{app="\#(app)"} 3"#))
            #expect(
                behind.matches(of: /lamplighter_fleet_intake_oldest_seconds\{app="[^"]*"\} \d{9,}/).count == 1,
                "the age is that of the first entry")
            try await withSecond(gateway) {
                try await eventually("all are answered") {
                    try await metrics().contains(#"lamplighter_fleet_intake_waiting{app="\#(app)"} 0"#)
                }
            }
        }
    }

    @Test func `two gateways publish each entry once, and one takes over from another`() async throws {
        try await GatewayFixture.run(configure: { $0.readsIntake = true }) { gateway in
            let (keys, app) = (gateway.store.keys, try gateway.app)
            try await withSecond(gateway) {
                for number in 0..<50 { _ = try await write(Self.push("a", number), gateway) }
                try await eventually("all are answered") { try await length(keys.intakeDone(app), gateway) == 50 }
                #expect(try await gateway.store.pushes.kept(app) == 50)
                // The lease of a gateway that died ends by itself.
                let lease = keys.intakeLease(app)
                try await gateway.store.redis.send(RedisCommand("SET", lease, "dead", "PX", "300"))
                _ = try await write(Self.push("a", 51), gateway)
                try await eventually("the last is answered") { try await length(keys.intakeDone(app), gateway) == 51 }
            }
        }
    }

    @Test func `an entry that was published but not answered is answered with the same ids`() async throws {
        try await GatewayFixture.run { gateway in
            let (keys, app) = (gateway.store.keys, try gateway.app)
            let entry = try await write(Self.push("a", 1), gateway)
            // A gateway committed it under the entry's key, and died before it wrote the answer.
            let reply = try await gateway.publish(
                Self.push("a", 1), headers: [("Idempotency-Key", "intake/\(entry)")])
            let ids = try reply.strings("push_ids")
            try await withSecond(gateway) {
                try await eventually("it is answered") { try await length(keys.intakeDone(app), gateway) == 1 }
                let done = try await answers(keys.intakeDone(app), gateway)
                #expect(done[0]["answer"]?.contains(ids[0]) == true)
                #expect(try await gateway.store.pushes.kept(app) == 1)
            }
        }
    }

    private static func push(_ name: String, _ number: Int) -> String {
        publishText(activity: #"{"name":"\#(name)","event":"update","content_state":{"n":\#(number)}}"#)
    }

    /// Runs a second gateway, which reads the intake, during `body`.
    private func withSecond(_ gateway: GatewayFixture, _ body: () async throws -> Void) async throws {
        var configuration = GatewayConfiguration(
            apps: [GatewayApp(key: try gateway.app, secret: "s", masterSecret: "m")])
        configuration.readsIntake = true
        let second = ServiceGroup(
            configuration: .init(
                services: [Gateway(configuration, store: gateway.store, logger: .quiet)], logger: .quiet))
        async let running: Void = second.run()
        do { try await body() } catch {
            await second.triggerGracefulShutdown()
            throw error
        }
        await second.triggerGracefulShutdown()
        try await running
    }

    /// - Returns: the id of the entry
    private func write(
        _ body: String?, _ gateway: GatewayFixture, _ more: [RedisArgument] = []
    ) async throws -> String {
        let key = gateway.store.keys.intake(try gateway.app)
        let fields: [RedisArgument] = ["*"] + (body.map { ["push", .string($0)] } ?? []) + more
        return try await gateway.store.redis.send(RedisCommand("XADD", key, fields)).string()
    }

    private func length(_ stream: RedisKey, _ gateway: GatewayFixture) async throws -> Int {
        try await gateway.store.redis.send(RedisCommand("XLEN", stream)).integer()
    }

    /// The fields of each entry of a stream.
    private func answers(_ stream: RedisKey, _ gateway: GatewayFixture) async throws -> [[String: String]] {
        let entries = try await gateway.store.redis.send(RedisCommand("XRANGE", stream, "-", "+")).array()
        return try entries.map { entry in
            let parts = try entry[1].array().map { try $0.string() }
            return Dictionary(
                uniqueKeysWithValues: stride(from: 0, to: parts.count, by: 2).map { (parts[$0], parts[$0 + 1]) })
        }
    }
}
