import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store

/// A push that is cancelled before it begins leaves the name as if it had not been accepted: what it superseded waits
/// again.
@Suite struct CancelTests {
    @Test(arguments: [ActivityEvent.update, .end])
    func `the update that a cancelled push superseded goes out`(event: ActivityEvent) async throws {
        let fixture = try await PushFixture.start()
        try await fixture.track("match-1", count: 1)
        let update = try await fixture.push()
        let newer = try await fixture.push(event)
        #expect(try await fixture.ledger(update).state == .superseded)
        try await fixture.cancel(newer)
        let waiting = try await fixture.ledger(update)
        #expect(waiting.state == .queued && waiting.supersededBy == nil && waiting.finishedAt == nil)
        #expect(try await fixture.life(Keyspace.unswept) > 0)
        _ = try await fixture.deliver(try await fixture.claimed("match-1", update), targets: 1)
        let ledger = try await fixture.ledger(update)
        #expect(ledger.state == .done && ledger.delivered == 1)
        guard case .idle = try await fixture.begin("match-1", newer).0 else { throw Unexpected(what: "more to send") }
    }

    @Test func `each cancel goes back by one`() async throws {
        let fixture = try await PushFixture.start()
        let pushes = [try await fixture.push(), try await fixture.push(), try await fixture.push(.end)]
        try await fixture.cancel(pushes[2])
        #expect(try await fixture.states(pushes) == [.superseded, .queued, .cancelled])
        try await fixture.cancel(pushes[1])
        #expect(try await fixture.states(pushes) == [.queued, .cancelled, .cancelled])
    }

    @Test func `a superseded push that nobody wants any more stays away, and the one before it comes`() async throws {
        let fixture = try await PushFixture.start()
        let pushes = [try await fixture.push(), try await fixture.push(), try await fixture.push(.end)]
        try await fixture.cancel(pushes[1])
        #expect(try await fixture.states(pushes) == [.superseded, .superseded, .queued])
        try await fixture.cancel(pushes[2])
        #expect(try await fixture.states(pushes) == [.queued, .superseded, .cancelled])
    }

    @Test func `all that it superseded come back, in their order`() async throws {
        let fixture = try await PushFixture.start()
        var pushes: [PushID] = []
        for tag in ["a", "b", "c"] { pushes.append(try await fixture.push(audience: .tag(tag, group: "device"))) }
        let end = try await fixture.push(.end)
        try await fixture.cancel(end)
        for push in pushes {
            _ = try await fixture.deliver(try await fixture.claimed("match-1", push), targets: 1)
            #expect(try await fixture.ledger(push).state == .done)
        }
    }

    /// A card that shows the push that began must not go back to the older one.
    @Test func `an update from before a push that began since stays superseded`() async throws {
        let fixture = try await PushFixture.start()
        let update = try await fixture.push()
        let alert = try await fixture.push(audience: .tag("a", group: "device"), alert: true)
        let end = try await fixture.push(.end)
        _ = try await fixture.claimed("match-1", alert)
        try await fixture.cancel(end)
        #expect(try await fixture.states([update, alert, end]) == [.superseded, .sending, .cancelled])
    }

    @Test func `a push that is cancelled during its sweep brings nothing back`() async throws {
        let fixture = try await PushFixture.start()
        let pushes = [try await fixture.push(), try await fixture.push(.end)]
        _ = try await fixture.claimed("match-1", pushes[1])
        try await fixture.cancel(pushes[1])
        #expect(try await fixture.states(pushes) == [.superseded, .cancelled])
    }
}

extension PushFixture {
    fileprivate func cancel(_ push: PushID) async throws { _ = try await store.pushes.cancel(app, push) }

    fileprivate func states(_ pushes: [PushID]) async throws -> [PushState] {
        var states: [PushState] = []
        for push in pushes { states.append(try await ledger(push).state) }
        return states
    }

    fileprivate func life(_ key: @escaping (Keyspace) -> (String) -> RedisKey) async throws -> Int {
        try await store.redis.send(RedisCommand("PTTL", try self.key(key))).integer()
    }
}
