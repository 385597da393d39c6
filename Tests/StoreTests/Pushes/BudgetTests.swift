import LiveActivity
import Redis
import Testing

@testable import Store

@Suite struct BudgetTests {
    private let name = try! ActivityName("match-1")
    private let budget = HighBudget(perHour: 3)

    /// Publishes, begins and delivers one push. Returns whether it goes out at priority 5.
    private func isDemoted(
        _ fixture: PushFixture, alert: Bool = false, priority: PushPriority = .high, insist: Bool = false,
        event: ActivityEvent = .update
    ) async throws -> Bool {
        let publish = Publish(
            name: name, event: event, audience: .all, priority: priority,
            alert: alert ? RawJSON(checked: #"{"title":"t"}"#) : nil,
            options: PublishOptions(conflate: false, insist: insist))
        let id = PushID.random()
        _ = try await fixture.store.pushes.accept(
            fixture.app, publish, id: id, payload: Array(#"{"aps":{"timestamp":0000000000}}"#.utf8), timestampOffset: 20
        )
        let (begun, _) = try await fixture.store.sweeps.begin(
            fixture.app, name, expecting: id, owner: "w", lease: fixture.lease, budget: budget)
        guard case .claimed(let claim) = begun, claim.lease.push == id else { throw Unexpected(what: "\(begun)") }
        // A second begin, as after a worker's death, counts nothing.
        let again = try await fixture.store.sweeps.begin(
            fixture.app, name, expecting: id, owner: "w", lease: fixture.lease, budget: budget)
        guard case .held = again.begun else { throw Unexpected(what: "\(again)") }
        _ = try await fixture.deliver(claim, targets: 1)
        return claim.record.isDemoted
    }

    @Test func `past the budget updates without an alert go at low priority`() async throws {
        let fixture = try await PushFixture.start()
        #expect(try await isDemoted(fixture) == false)
        #expect(try await isDemoted(fixture) == false)
        #expect(try await isDemoted(fixture, priority: .low) == false, "5 is not counted")
        #expect(try await isDemoted(fixture, alert: true) == false)
        // Three pushes were counted, and the alert is one of them.
        #expect(try await isDemoted(fixture))
        #expect(try await isDemoted(fixture, insist: true) == false)
        #expect(try await isDemoted(fixture, alert: true) == false)
        let now = fixture.store.time.now()
        #expect(try await fixture.store.pushes.isHighSpent(fixture.app, name, budget, now: now))
        #expect(try await fixture.store.pushes.isHighSpent(fixture.app, name, budget, now: now + 3_600_000) == false)
        #expect(
            try await fixture.store.pushes.isHighSpent(fixture.app, try ActivityName("match-2"), budget, now: now)
                == false)
        // The next hour begins with its first push.
        try await fixture.store.redis.send(
            RedisCommand("HSET", fixture.key(Keyspace.name), "budget", .string("\(now - 3_600_000) 9")))
        #expect(try await isDemoted(fixture) == false)
        let meter = try await fixture.store.redis.send(RedisCommand("HGET", fixture.key(Keyspace.name), "budget"))
        #expect(try meter.string().hasSuffix(" 1"))
        #expect(try await isDemoted(fixture, event: .end) == false)
    }

    @Test func `without a budget nothing is counted`() async throws {
        let fixture = try await PushFixture.start()
        for _ in 0..<3 {
            let id = try await fixture.accepted("match-1")
            _ = try await fixture.deliver(try await fixture.claimed("match-1", id), targets: 0)
        }
        #expect(try await fixture.store.redis.send(RedisCommand("HGET", fixture.key(Keyspace.name), "budget")).isNil)
    }
}
