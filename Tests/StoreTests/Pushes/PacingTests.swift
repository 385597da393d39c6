import LiveActivity
import Redis
import Testing

@testable import Store

/// Tests the pacing of updates without an alert. The first one is sent at once. Those within the interval become
/// one update at its end.
@Suite struct PacingTests {
    private let interval = Duration.seconds(600)

    @Test func `the first goes at once and the last of the others at the intervals end`() async throws {
        let fixture = try await PushFixture.start()
        try await fixture.sweepOne("match-1", every: interval)
        let second = try await fixture.acceptedNow("match-1")
        guard case (.paced(let left), second) = try await fixture.begin("match-1", every: interval) else {
            throw Unexpected(what: "not paced")
        }
        #expect(left > .zero && left <= interval)
        let third = try await fixture.acceptedNow("match-1")
        #expect(try await fixture.ledger(second).supersededBy == third)
        guard case (.paced, third) = try await fixture.begin("match-1", every: interval) else {
            throw Unexpected(what: "the third is not paced")
        }
        #expect(try await fixture.ledger(third).state == .queued, "it may still be replaced or cancelled")
        try await fixture.letIntervalPass("match-1", interval)
        guard case (.claimed, third) = try await fixture.begin("match-1", every: interval) else {
            throw Unexpected(what: "the interval is over")
        }
    }

    @Test(arguments: ["alert", "end", "conflate"])
    func `what must not wait does not nor does the update before it`(kind: String) async throws {
        let fixture = try await PushFixture.start()
        try await fixture.sweepOne("match-1", every: interval)
        let update = try await fixture.acceptedNow("match-1", audience: .tag("vip", group: "device"))
        guard case (.paced, _) = try await fixture.begin("match-1", every: interval) else {
            throw Unexpected(what: "not paced")
        }
        let urgent = try await fixture.acceptedNow(
            "match-1", event: kind == "end" ? .end : .update, audience: .tag("press", group: "device"),
            alert: kind == "alert", conflate: kind != "conflate")
        guard case (.claimed(let claim), update) = try await fixture.begin("match-1", every: interval) else {
            throw Unexpected(what: "the update holds up what is behind it")
        }
        _ = try await fixture.deliver(claim, targets: 0)
        guard case (.claimed, urgent) = try await fixture.begin("match-1", every: interval) else {
            throw Unexpected(what: "it waits for the interval")
        }
    }

    @Test func `an interval has one sweep for each audience`() async throws {
        let fixture = try await PushFixture.start()
        try await fixture.sweepOne("match-1", every: interval)
        let audiences = [Audience.tag("a", group: "device"), .tag("b", group: "device"), .tag("c", group: "device")]
        for audience in audiences { _ = try await fixture.acceptedNow("match-1", audience: audience) }
        try await fixture.letIntervalPass("match-1", interval)
        for _ in audiences { try await fixture.sweep("match-1", every: interval) }
        _ = try await fixture.acceptedNow("match-1", audience: audiences[0])
        guard case (.paced, _) = try await fixture.begin("match-1", every: interval) else {
            throw Unexpected(what: "the next interval has begun with the first of the three")
        }
    }

    @Test func `an update that would expire meanwhile goes now`() async throws {
        let fixture = try await PushFixture.start()
        try await fixture.sweepOne("match-1", every: interval)
        let expiry = Int(try await fixture.redisTime() / 1_000) + 60
        let publish = Publish(
            name: try ActivityName("match-1"), event: .update, audience: .all,
            options: PublishOptions(expiry: expiry))
        _ = try await fixture.store.pushes.accept(
            fixture.app, publish, id: .random(), payload: Array(#"{"aps":{"timestamp":0000000000}}"#.utf8),
            timestampOffset: 20)
        try await fixture.sweep("match-1", every: interval)
    }

    @Test func `pacing is off at zero`() async throws {
        let fixture = try await PushFixture.start()
        for _ in 0..<3 { try await fixture.sweepOne("match-1", every: .zero) }
    }
}

extension PushFixture {
    func acceptedNow(
        _ name: String, event: ActivityEvent = .update, audience: Audience = .all, alert: Bool = false,
        priority: PushPriority = .high, conflate: Bool = true
    ) async throws -> PushID {
        let acceptance = try await accept(
            name, event: event, audience: audience, alert: alert, priority: priority, conflate: conflate)
        guard case .accepted(let id, _, _) = acceptance else { throw Unexpected(what: "\(acceptance)") }
        return id
    }

    /// Accepts an update, which must be begun at once, and sweeps it.
    fileprivate func sweepOne(_ name: String, every interval: Duration) async throws {
        _ = try await acceptedNow(name)
        try await sweep(name, every: interval)
    }

    fileprivate func sweep(_ name: String, every interval: Duration) async throws {
        let (begun, _) = try await begin(name, every: interval)
        guard case .claimed(let claim) = begun else { throw Unexpected(what: "\(begun)") }
        _ = try await deliver(claim, targets: 0)
    }

    /// Moves the beginning of the name's interval back by that time.
    func letIntervalPass(_ name: String, _ interval: Duration) async throws {
        let key = try key(Keyspace.name, name)
        let paced = try await store.redis.send(RedisCommand("HGET", key, "paced")).string().split(separator: " ")
        let began = try #require(Int64(paced[0])) - interval.milliseconds
        try await store.redis.send(RedisCommand("HSET", key, "paced", .string("\(began) \(paced[1])")))
    }
}
