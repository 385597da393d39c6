import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store
@testable import StoreDeliveries

/// The record of the exchanges with APNs for one channel of a push.
@Suite struct TracesTests {
    private let channel = try! ChannelID("device-1")
    private let name = try! ActivityName("match-1")

    private func publish(
        _ fixture: PushFixture, trace: ChannelID?
    ) async throws -> (id: PushID, acceptance: Acceptance) {
        let publish = Publish(
            name: name, event: .update, audience: .all, contentState: RawJSON(checked: "{}"),
            options: PublishOptions(trace: trace))
        let id = PushID.random()
        let acceptance = try await fixture.store.pushes.accept(
            fixture.app, publish, id: id, payload: Array(#"{"aps":{"timestamp":0000000000}}"#.utf8),
            timestampOffset: 20)
        return (id, acceptance)
    }

    @Test func `a traced push has a trace before a worker sees it, and another push has none`() async throws {
        let fixture = try await PushFixture.start()
        let (store, app) = (fixture.store, fixture.app)
        let traced = try await publish(fixture, trace: channel).id
        #expect(try await store.traces.find(app, name, traced) == ExchangeLog.Found(channel: channel))
        #expect(try await store.traces.channel(app, name, traced) == channel.stored)
        let life = try await store.redis.send(RedisCommand("PTTL", store.keys.trace(store.keys.tag(app, name), traced)))
        #expect(try (80_000_000...86_400_000).contains(life.integer()))
        #expect(try await fixture.claimed("match-1", traced).record.isTraced)

        let plain = try await publish(fixture, trace: nil).id
        #expect(try await store.traces.find(app, name, plain) == nil)
        #expect(try await store.traces.channel(app, name, plain) == nil)
        let record = store.keys.push(store.keys.tag(app, name), plain)
        #expect(try await store.redis.send(RedisCommand("HEXISTS", record, "trace")).integer() == 0)
    }

    @Test func `the newest ten exchanges are kept, in their order`() async throws {
        let fixture = try await PushFixture.start()
        let (store, app) = (fixture.store, fixture.app)
        let push = try await publish(fixture, trace: channel).id
        func texts(_ numbers: ClosedRange<Int>) -> [[UInt8]] { numbers.map { Array(#"{"n": \#($0)}"#.utf8) } }
        for numbers in [1...1, 2...3, 4...11] { try await store.traces.add(app, name, push, texts(numbers)) }
        let found = try #require(try await store.traces.find(app, name, push))
        #expect(found.total == 11 && found.exchanges == texts(2...11) && found.channel == channel)
        // More at once than are kept.
        try await store.traces.add(app, name, push, texts(12...40))
        let more = try #require(try await store.traces.find(app, name, push))
        #expect(more.total == 40 && more.exchanges == texts(31...40))
    }

    @Test func `a schedule keeps the channel that its push is to trace`() async throws {
        let fixture = try await PushFixture.start()
        let time = try await fixture.redisTime()
        let schedule = Schedule(
            id: .random(),
            publish: Publish(
                name: name, event: .update, audience: .all, contentState: RawJSON(checked: "{}"),
                options: PublishOptions(trace: channel)),
            payload: Array(#"{"aps":{"timestamp":0000000000}}"#.utf8), timestampOffset: 20, due: time - 1_000,
            createdAt: time - 2_000, posted: Array("{}".utf8))
        #expect(try await fixture.store.schedules.create(fixture.app, [schedule]) != nil)
        #expect(try await fixture.store.schedules.runDue(fixture.app, limit: 1).map(\.outcome) == [.sent])
        #expect(try await fixture.store.traces.find(fixture.app, name, schedule.id)?.channel == channel)
    }
}
