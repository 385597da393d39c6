import LiveActivity
import Redis
import Testing

@testable import Store

@Suite struct BudgetTests {
    private let name = try! ActivityName("match-1")
    private let budget = HighBudget(perHour: 3, perHourInfrequent: 1)

    /// Publishes, begins and delivers one push. Returns which devices get it at priority 5.
    private func demotion(
        _ fixture: PushFixture, alert: Bool = false, priority: PushPriority = .high, insist: Bool = false,
        event: ActivityEvent = .update
    ) async throws -> Demotion? {
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
        return claim.record.demotion
    }

    @Test func `past the budget updates without an alert go at low priority`() async throws {
        let fixture = try await PushFixture.start()
        #expect(try await demotion(fixture) == nil)
        #expect(try await demotion(fixture) == .infrequent, "their own budget was one")
        #expect(try await demotion(fixture, priority: .low) == nil, "5 is not counted")
        #expect(try await demotion(fixture, alert: true) == nil)
        // Three pushes were counted, and the alert is one of them.
        #expect(try await demotion(fixture) == .all)
        #expect(try await demotion(fixture, insist: true) == nil)
        #expect(try await demotion(fixture, alert: true) == nil)
        let now = fixture.store.time.now()
        #expect(try await fixture.store.pushes.isHighSpent(fixture.app, name, budget, now: now))
        #expect(try await fixture.store.pushes.isHighSpent(fixture.app, name, budget, now: now + 3_600_000) == false)
        #expect(
            try await fixture.store.pushes.isHighSpent(fixture.app, try ActivityName("match-2"), budget, now: now)
                == false)
        // The next hour begins with its first push.
        try await fixture.store.redis.send(
            RedisCommand("HSET", fixture.key(Keyspace.name), "budget", .string("\(now - 3_600_000) 9")))
        #expect(try await demotion(fixture) == nil)
        let meter = try await fixture.store.redis.send(RedisCommand("HGET", fixture.key(Keyspace.name), "budget"))
        #expect(try meter.string().hasSuffix(" 1"))
        #expect(try await demotion(fixture, event: .end) == nil)
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
