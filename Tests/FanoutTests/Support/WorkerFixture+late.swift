import APNsWire
import LiveActivity
import Redis
import Synchronization
import TestSupport
import Testing

@testable import Fanout
@testable import Store

extension WorkerFixture {
    /// A channel that begins to follow now, or registers once more.
    func follow(
        _ channel: ChannelID, _ number: Int, wants: Bool = true, activity: String? = nil
    ) async throws {
        let registration = Registration(
            channel: channel, token: try #require(Self.token(number)), registeredAt: nowMilliseconds(),
            activityID: activity, wantsState: wants)
        #expect(try await store.registry.track(app, .activity(name), [registration]) == [.stored])
    }

    /// Publishes updates, and sweeps each before the next.
    func swept(_ labels: [String], _ audience: Audience = .all) async throws {
        for label in labels { _ = try await finished(try await publish(audience, alert: false, label: label)) }
    }

    func lastPush() async throws -> PushID? { try await store.names.info(app, name)?.lastPushID }

    func sequence(_ id: PushID) async throws -> Int {
        try #require(try await store.sweeps.records(app, name, [id])[id]).sequence
    }

    func expect(_ channels: [ChannelID], startedBy sequence: Int, hoursAgo: Int64 = 0) async throws {
        try await store.lateJoiners.expect(
            app, name, channels.map(\.stored), startedBy: sequence, now: nowMilliseconds() - hoursAgo * 3_600_000)
    }

    func lateJoiners() async throws -> [LateJoiner] {
        let found = Mutex<[LateJoiner]>([])
        try await store.lateJoiners.each(app, name) { part throws(StoreError) in found.withLock { $0 += part } }
        return found.withLock { $0 }
    }

    /// Loses the wake-up, like a gateway that dies after a registration. Long after its last push the reconciler does
    /// not look at the name any more.
    func loseTheWakeUp() async throws {
        let keys = store.registry.keys
        let lost = try await store.redis.pipeline([
            RedisCommand("XTRIM", keys.stream(app, .namesHigh, partition), "MAXLEN", "0"),
            RedisCommand("DEL", keys.open(app, partition)),
        ])
        #expect(try lost[0].integer() >= 1)
    }

    /// Returns when a worker has decided about every late joiner.
    func nobodyIsLate() async throws {
        try await eventually("nobody waits for a state") { try await lateJoiners().isEmpty }
    }
}
