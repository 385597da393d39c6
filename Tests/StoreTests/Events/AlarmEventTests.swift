import LiveActivity
import Redis
import Synchronization
import TestSupport
import Testing

@testable import Store

/// Outgoing events tell an alarm once when it is raised, and once when it is cleared or nobody repeats it.
@Suite struct AlarmEventTests {
    private final class Clock: Sendable {
        private let time = Mutex<Int64>(1_795_000_000_000)
        var now: Int64 { time.withLock { $0 } }
        func pass(_ duration: Duration) { time.withLock { $0 += duration.milliseconds } }
    }

    private struct Fixture {
        let server: RedisServer
        let store: Store
        let clock = Clock()
        let app = try! AppKey("shop")

        init(_ policy: EventPolicy = EventPolicy(keep: 1_000)) async throws {
            server = try await RedisServer.start()
            store = Store(
                redis: RedisClient(url: server.url, scripts: Store.scripts, logger: .quiet), events: [app: policy],
                clock: { [clock] in clock.now })
        }

        func told() async throws -> [String] {
            let reader = store.eventReader()
            defer { reader.close() }
            return try await reader.events(app, after: "0-0", limit: 100, waits: false).map(\.id)
        }
    }

    @Test func `raised, repeated and cleared`() async throws {
        let fixture = try await Fixture()
        let alarms = fixture.store.alarms
        try await alarms.raise(fixture.app, .credentials, "InvalidProviderToken")
        fixture.clock.pass(.seconds(30))
        try await alarms.raise(fixture.app, .credentials, "InvalidProviderToken")
        #expect(try await fixture.told() == ["credentials.1795000000000.raised"])
        try await alarms.clear(fixture.app, .credentials)
        try await alarms.clear(fixture.app, .credentials)
        #expect(
            try await fixture.told() == ["credentials.1795000000000.raised", "credentials.1795000000000.cleared"])
        #expect(try await alarms.list([fixture.app]).isEmpty)
        fixture.clock.pass(.seconds(30))
        try await alarms.raise(fixture.app, .credentials, "InvalidProviderToken")
        #expect(try await fixture.told().last == "credentials.1795000060000.raised")
    }

    @Test func `the text says what and since when`() async throws {
        let fixture = try await Fixture()
        try await fixture.store.alarms.raise(fixture.app, .unreachable, "say \"no\"")
        let reader = fixture.store.eventReader()
        let text = try await reader.events(fixture.app, after: "0-0", limit: 1, waits: false).first?.text
        #expect(
            text == #"{"id":"unreachable.1795000000000.raised","type":"alarm_raised","app":"shop","#
                + #""at":"2026-11-18T11:06:40.000Z","alarm":{"kind":"unreachable","reason":"say \"no\"","#
                + #""since":"2026-11-18T11:06:40.000Z"}}"#)
        reader.close()
    }

    @Test func `an alarm that nobody repeats is told as cleared when it has ended`() async throws {
        let fixture = try await Fixture()
        let alarms = fixture.store.alarms
        try await alarms.raise(fixture.app, .manyUnregistered, "many")
        fixture.clock.pass(.seconds(600))
        try await alarms.tellEnded(fixture.app)
        #expect(try await fixture.told().count == 1, "it stands")
        fixture.clock.pass(.seconds(600))
        try await alarms.tellEnded(fixture.app)
        try await alarms.tellEnded(fixture.app)
        #expect(try await fixture.told().map { $0.split(separator: ".").last } == ["raised", "cleared"])
    }

    @Test func `an alarm that is raised again before its end was told goes on`() async throws {
        let fixture = try await Fixture()
        let alarms = fixture.store.alarms
        try await alarms.raise(fixture.app, .expired, "some")
        fixture.clock.pass(.seconds(1_200))
        try await alarms.raise(fixture.app, .expired, "more")
        try await alarms.tellEnded(fixture.app)
        #expect(try await fixture.told().count == 1)
    }

    @Test func `the alarm of the prune guard stands while tokens are quarantined`() async throws {
        let fixture = try await Fixture()
        let (store, place) = (fixture.store, TokenPlace.activity(try ActivityName("match-1")))
        try await store.quarantine.enlist(fixture.app, place)
        let mark = QuarantineMark(reason: "BadDeviceToken", since: fixture.clock.now, token: [1])
        let key = store.keys.quarantine(store.keys.tag(fixture.app, place))
        try await store.redis.send(RedisCommand("HSET", key, .bytes([1, 1]), .bytes(mark.storedValue)))
        try await store.alarms.raise(fixture.app, .pruneGuard, "2 of 2 answers")
        try await store.alarms.tellEnded(fixture.app)
        #expect(try await fixture.told().count == 1)
        _ = try await store.quarantine.release(fixture.app, nil)
        #expect(try await fixture.told().count == 2)
    }

    @Test func `an app without outgoing events raises and clears as before`() async throws {
        let fixture = try await Fixture(EventPolicy())
        let alarms = fixture.store.alarms
        try await alarms.raise(fixture.app, .credentials, "InvalidProviderToken")
        #expect(try await alarms.list([fixture.app]).count == 1)
        try await alarms.tellEnded(fixture.app)
        try await alarms.clear(fixture.app, .credentials)
        #expect(try await alarms.list([fixture.app]).isEmpty)
        #expect(try await fixture.told().isEmpty)
    }

    @Test func `an alarm that nobody takes events from the queue is not put into it`() async throws {
        let fixture = try await Fixture(EventPolicy(keep: 10, queued: [.alarmRaised, .alarmCleared]))
        let kind = Alarm.Kind("queue", title: "Queue", log: "", meaning: "", ends: "", isQueued: false)
        try await fixture.store.alarms.raise(fixture.app, kind, "HTTP 503")
        try await fixture.store.alarms.raise(fixture.app, .credentials, "InvalidProviderToken")
        #expect(try await fixture.told().count == 2)
        let length = RedisCommand("XLEN", fixture.store.keys.eventQueue(fixture.app))
        #expect(try await fixture.store.redis.send(length).integer() == 1)
    }
}
