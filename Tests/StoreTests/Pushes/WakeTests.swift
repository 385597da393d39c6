import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store

/// Tests that waiting work has one entry in a stream instead of one per publish, and how much work may wait.
@Suite struct WakeTests {
    private let start: Int64 = 1_795_000_000_000

    @Test func `while no worker runs a busy name has two entries at the most`() async throws {
        let fixture = try await PushFixture.start()
        for _ in 0..<200 { _ = try await fixture.publish("match-1") }
        #expect(try await fixture.entries(.namesHigh) <= 2)
        // Hours later there is still no worker. New entries come less and less often.
        for minute in 1...240 { _ = try await fixture.publish("match-1", now: start + Int64(minute) * 60_000) }
        #expect(try await fixture.entries(.namesHigh) <= 4 * 6 + 8)
    }

    @Test func `a publish adds a lost entry again after five seconds`() async throws {
        let fixture = try await PushFixture.start()
        for _ in 0..<3 { _ = try await fixture.publish("match-1") }
        try await fixture.empty(.namesHigh)
        _ = try await fixture.publish("match-1", now: start + 4_000)
        #expect(try await fixture.entries(.namesHigh) == 0, "one is there, as far as anybody knows")
        _ = try await fixture.publish("match-1", now: start + 5_000)
        #expect(try await fixture.entries(.namesHigh) == 1)
    }

    @Test func `a repeated publish wakes the name too`() async throws {
        let fixture = try await PushFixture.start()
        for _ in 0..<3 { _ = try await fixture.publish("match-1") }
        let id = PushID.random()
        _ = try await fixture.publish("match-1", id: id)
        try await fixture.empty(.namesHigh)
        _ = try await fixture.publish("match-1", id: id)
        #expect(try await fixture.entries(.namesHigh) == 1, "the gateway that had it may have died before the wake-up")
    }

    @Test func `the first that may not wait wakes the name`() async throws {
        let fixture = try await PushFixture.start()
        for _ in 0..<3 { _ = try await fixture.publish("match-1", priority: .low) }
        #expect(try await fixture.entries(.namesHigh) == 0)
        _ = try await fixture.publish("match-1", priority: .high)
        #expect(try await fixture.entries(.namesHigh) == 1, "its line is another")
        for _ in 0..<3 { _ = try await fixture.publish("match-1") }
        try await fixture.empty(.namesHigh)
        _ = try await fixture.publish("match-1", alert: true)
        #expect(try await fixture.entries(.namesHigh) == 1, "what waits may be paced")
        for _ in 0..<3 { _ = try await fixture.publish("match-1", alert: true) }
        try await fixture.empty(.namesHigh)
        _ = try await fixture.publish("match-1", alert: true)
        #expect(try await fixture.entries(.namesHigh) == 0)
    }

    @Test func `a refused publish leaves no index`() async throws {
        let fixture = try await PushFixture.start()
        _ = try await fixture.accepted("order-1", event: .end)
        let before = try await Set(fixture.store.redis.keys())
        #expect(try await fixture.publish("order-1") == .refused(.nameClosed))
        #expect(try await Set(fixture.store.redis.keys()) == before)
    }

    // MARK: Bounds

    @Test(.enabled(if: !RedisServer.isCluster, "there the queues are measured while a publish is on its way"))
    func `past the bound only a push that supersedes another is accepted`() async throws {
        let fixture = try await PushFixture.start()
        let bounds = QueueBounds(apps: [fixture.app], perApp: 3, total: 100)
        var first: [PushID] = []
        for name in ["a", "b", "c"] { first.append(try await fixture.accepted(name, bounds)) }
        let before = try await Set(fixture.store.redis.keys())
        #expect(try await fixture.publish("d", bounds) == .refused(.queueFull(.app, retryAfter: 5)))
        #expect(try await Set(fixture.store.redis.keys()) == before, "nothing is written")
        let newer = try await fixture.accepted("a", bounds)
        #expect(try await fixture.ledger(first[0]).supersededBy == newer)
        let alert = try await fixture.accepted("b", bounds, alert: true)
        #expect(try await fixture.ledger(first[1]).supersededBy == alert)
        #expect(
            try await fixture.publish("b", bounds) == .refused(.queueFull(.app, retryAfter: 5)),
            "it would wait behind the alert")
        #expect(try await fixture.store.pushes.ledger(fixture.app, newer) != nil, "it can be asked for")
        // Workers have made room, and the next publish notices it.
        try await fixture.empty(.namesHigh)
        _ = try await fixture.accepted("d", bounds)
    }

    @Test func `all apps together have a bound too`() async throws {
        let fixture = try await PushFixture.start()
        let other = try AppKey("other")
        let bounds = QueueBounds(apps: [fixture.app, other], perApp: 100, total: 2)
        let item = WorkItem(app: other, name: try ActivityName("x"), push: .random(), priority: .low, part: .retries)
        try await fixture.store.queue.add([item])
        // Work that waits for its time counts too, because the work of a halted app is in that timer.
        try await fixture.store.queue.schedule(item, due: 1)
        _ = try await fixture.publish("a", bounds)
        #expect(try await fixture.publish("b", bounds) == .refused(.queueFull(.total, retryAfter: 5)))
        let depth = try await fixture.store.queue.depth([fixture.app, other])
        #expect(depth.map(\.pushesHigh) == [1, 0] && depth.map(\.pushesLow) == [0, 1])
        #expect(depth.map(\.retriesDue) == [0, 1])
    }
}

extension PushFixture {
    fileprivate func publish(_ name: String, _ bounds: QueueBounds, alert: Bool = false) async throws -> Acceptance {
        let publish = Publish(
            name: try ActivityName(name), event: .update, audience: .all,
            alert: alert ? RawJSON(checked: #"{"title":"t"}"#) : nil)
        return try await store.pushes.accept(
            app, publish, id: .random(), payload: Array(#"{"aps":{"timestamp":0000000000}}"#.utf8),
            timestampOffset: 20, bounds: bounds)
    }

    fileprivate func accepted(_ name: String, _ bounds: QueueBounds, alert: Bool = false) async throws -> PushID {
        let acceptance = try await publish(name, bounds, alert: alert)
        guard case .accepted(let id, _, _) = acceptance else { throw Unexpected(what: "\(acceptance)") }
        return id
    }

    fileprivate func entries(_ stream: WorkStream) async throws -> Int {
        let streams = store.keys.allPartitions.map { store.keys.stream(app, stream, $0) }
        return try await store.redis.pipeline(streams.map { RedisCommand("XLEN", $0) })
            .reduce(0) { try $0 + $1.integer() }
    }

    fileprivate func empty(_ stream: WorkStream) async throws {
        for partition in store.keys.allPartitions {
            try await store.redis.send(RedisCommand("XTRIM", store.keys.stream(app, stream, partition), "MAXLEN", "0"))
        }
    }
}
