import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store

/// The state of the deployment, which metrics, `status` and the console show.
@Suite struct SnapshotTests {
    private func alarmed(_ fixture: PushFixture) async throws {
        _ = try await fixture.accepted("match-1")
        try await fixture.store.alarms.raise(fixture.app, .clock, "a test")
        _ = try await fixture.store.pauses.pause(fixture.app, nil)
    }

    @Test func `a snapshot has the parts that were asked for, and all of them can be asked for`() async throws {
        let fixture = try await PushFixture.start()
        try await alarmed(fixture)
        let all = try await fixture.store.snapshot([fixture.app], Snapshot.Part.allCases)
        #expect(all.parts == Set(Snapshot.Part.allCases))
        #expect(all.apps.map(\.key) == [fixture.app] && all.apps[0].depth.pushesHigh == 1)
        #expect(all.alarms.map(\.kind) == [.clock] && all.pauses.map(\.app) == [fixture.app])
        #expect(all.pushes.count == 1 && all.load.usedMemory > 0 && all.answered > .zero)
        let some = try await fixture.store.snapshot([fixture.app], [.alarms])
        #expect(some.parts == [.alarms] && some.alarms == all.alarms && some.pauses.isEmpty)
    }

    @Test func `a part that cannot be read is an error, or is left out of a partial snapshot`() async throws {
        let fixture = try await PushFixture.start()
        try await alarmed(fixture)
        let store = fixture.store
        _ = try await store.redis.send(RedisCommand("DEL", store.keys.alarm(fixture.app)))
        _ = try await store.redis.send(RedisCommand("SET", store.keys.alarm(fixture.app), "no alarms"))
        await #expect(throws: StoreError.self) { try await store.snapshot([fixture.app], [.depths, .alarms]) }
        let partial = await store.partialSnapshot([fixture.app], [.depths, .alarms, .pauses])
        #expect(partial.parts == [.depths, .pauses])
        let none = await store.partialSnapshot([fixture.app], [.alarms, .pauses])
        #expect(none.parts.isEmpty, "without the first part no other is asked for")
    }
}
