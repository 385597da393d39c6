import Answers
import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store
@testable import StoreDeliveries

/// The condition of a schedule is judged when it is due, and what is not sent is told.
@Suite struct ScheduleConditionTests {
    private let name = try! ActivityName("match-1")

    private func schedule(due: Int64, after: AfterPush, made: Int64? = nil) -> Schedule {
        var publish = Publish(name: name, event: .update, audience: .all, alert: RawJSON(checked: #"{"title":"t"}"#))
        publish.options.after = after
        return Schedule(
            id: .random(), publish: publish, payload: Array(#"{"aps":{"timestamp":0000000000}}"#.utf8),
            timestampOffset: 20, due: due, createdAt: made ?? due - 600_000, posted: Array("{}".utf8))
    }

    private func start() async throws -> PushFixture { try await PushFixture.start(events: EventPolicy(keep: 1_000)) }

    @Test func `a schedule keeps its condition, and another publish in its place has its own`() async throws {
        let fixture = try await PushFixture.start()
        let schedules = fixture.store.schedules
        var waiting = schedule(due: try await fixture.redisTime() + 3_600_000, after: .push(.random()))
        _ = try await schedules.create(fixture.app, [waiting])
        #expect(try await schedules.find(fixture.app, waiting.id) == waiting)
        for after in [AfterPush.nothing, .any] {
            waiting.publish.options.after = after
            _ = try await schedules.replace(fixture.app, waiting)
            #expect(try await schedules.find(fixture.app, waiting.id)?.publish.options.after == after)
        }
    }

    @Test func `it goes out behind the push that it names, also if that was a schedule itself`() async throws {
        let fixture = try await start()
        let time = try await fixture.redisTime()
        let first = schedule(due: time - 20, after: .nothing)
        let second = schedule(due: time - 10, after: .push(first.id))
        _ = try await fixture.store.schedules.create(fixture.app, [second, first])
        let runs = try await fixture.store.schedules.runDue(fixture.app, limit: 10)
        #expect(runs.map(\.id) == [first.id, second.id] && runs.allSatisfy { $0.outcome == .sent && $0.alarm == nil })
        #expect(try await fixture.events().isEmpty)
    }

    @Test func `it fails if another push came first, and says so in its ledger, an event and an alarm`() async throws {
        let fixture = try await start()
        let schedules = fixture.store.schedules
        let time = try await fixture.redisTime()
        let seen = try await fixture.accepted("match-1")
        let waiting = schedule(due: time, after: .push(seen))
        _ = try await schedules.create(fixture.app, [waiting])
        _ = try await fixture.accepted("match-1", alert: true)
        let run = try #require(try await schedules.runDue(fixture.app, limit: 10).first)
        #expect(run.outcome == .failed("Conflict"))
        #expect(run.alarm?.contains("the update of match-1 for \(TimeText.text(time)) was not sent") == true)
        let found = try await schedules.find(fixture.app, waiting.id)
        #expect(found?.state == .failed && found?.reason == "Conflict")
        #expect(found?.ledger?.state == .failed && found?.ledger?.errors == ["Conflict": 1])
        let events = try await fixture.events()
        #expect(events.map(\.kind) == ["failed"] && events.map(\.id) == ["\(waiting.id).1"])
        #expect(events.first?.text.contains(#""errors":{"Conflict":1}"#) == true)
        #expect(try await schedules.runDue(fixture.app, limit: 10).isEmpty)
        #expect(try await fixture.events().count == 1)
    }

    /// The worker died behind the refusal, before it told so.
    @Test func `a refusal is told after a crash`() async throws {
        let fixture = try await start()
        let (schedules, keys) = (fixture.store.schedules, fixture.store.keys)
        let time = try await fixture.redisTime()
        let waiting = schedule(due: time, after: .push(.random()))
        _ = try await schedules.create(fixture.app, [waiting])
        let dead = try await schedules.settle(
            fixture.app, waiting.id, from: [.scheduled], to: .failed, reason: "Conflict", now: time)
        #expect(dead == .failed)
        _ = try await schedules.runDue(fixture.app, limit: 10)
        #expect(try await fixture.events().map(\.id) == ["\(waiting.id).1"])
        #expect(try await fixture.store.redis.run("ZCARD", keys.at(fixture.app)).integer() == 0)
    }

    @Test func `a refusal for another reason is told too, without this alarm`() async throws {
        let fixture = try await start()
        try await fixture.track("match-1", count: 1)
        _ = try await fixture.accepted("match-1", event: .end)
        let waiting = schedule(due: try await fixture.redisTime(), after: .any)
        _ = try await fixture.store.schedules.create(fixture.app, [waiting])
        let run = try #require(try await fixture.store.schedules.runDue(fixture.app, limit: 10).first)
        #expect(run.outcome == .failed("NameEnded") && run.alarm == nil)
        #expect(try await fixture.events().map(\.kind) == ["failed"])
    }

    /// The ten seconds of the console: a page shows what became of it.
    @Test func `nobody is alarmed for a schedule that somebody watches`() async throws {
        let fixture = try await start()
        let time = try await fixture.redisTime()
        let waiting = schedule(due: time, after: .push(.random()), made: time - 10_000)
        _ = try await fixture.store.schedules.create(fixture.app, [waiting])
        let run = try #require(try await fixture.store.schedules.runDue(fixture.app, limit: 10).first)
        #expect(run.outcome == .failed("Conflict") && run.alarm == nil)
        #expect(try await fixture.events().map(\.kind) == ["failed"])
    }

    /// It was slow, and another worker committed the schedule meanwhile.
    @Test func `a worker that was refused tells nothing of a schedule that was sent since`() async throws {
        let fixture = try await start()
        let (schedules, keys) = (fixture.store.schedules, fixture.store.keys)
        let time = try await fixture.redisTime()
        let waiting = schedule(due: time, after: .nothing)
        _ = try await schedules.create(fixture.app, [waiting])
        #expect(try await schedules.runDue(fixture.app, limit: 10).map(\.outcome) == [.sent])
        // Its claim is repeated, as if the first worker had died before it wrote down what became of it.
        _ = try await fixture.accepted("match-1", alert: true)
        let key = keys.schedule(fixture.app, waiting.id)
        try await fixture.store.redis.send(RedisCommand("HSET", key, "state", "taken", "until", "0"))
        try await fixture.store.redis.run("ZADD", keys.at(fixture.app), .int(time), .string(waiting.id.description))
        #expect(try await schedules.runDue(fixture.app, limit: 10).map(\.outcome) == [.sent], "it is the same push")
        let late = try await schedules.close(
            fixture.app, waiting.id, waiting, .failed("Conflict"), now: time, lateness: 0)
        #expect(late.alarm == nil)
        #expect(try await fixture.events().isEmpty)
    }
}
