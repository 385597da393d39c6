import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store
@testable import StoreDeliveries
@testable import StoreGround

@Suite struct ScheduleTests {
    private let name = try! ActivityName("match-1")

    private func schedule(
        due: Int64, event: ActivityEvent = .update, timestamp: Int? = nil, id: PushID = .random()
    ) -> Schedule {
        Schedule(
            id: id,
            publish: Publish(
                name: name, event: event, audience: .all, timestamp: timestamp,
                alert: RawJSON(checked: #"{"title":"t"}"#)),
            payload: Array(#"{"aps":{"timestamp":0000000000}}"#.utf8), timestampOffset: 20, due: due,
            createdAt: 1_795_000_000_000, posted: Array("{}".utf8))
    }

    @Test func `a schedule waits for its time and becomes one push whoever takes it`() async throws {
        let fixture = try await PushFixture.start()
        let schedules = fixture.store.schedules
        let time = try await fixture.redisTime()
        let due = (0..<20).map { _ in schedule(due: time - 1_000) }
        let later = schedule(due: time + 3_600_000)
        #expect(try await schedules.create(fixture.app, due + [later]) != nil)
        #expect(try await schedules.find(fixture.app, due[0].id)?.state == .scheduled)
        // Eight workers run at once.
        let runs = try await withThrowingTaskGroup(of: [ScheduleRun].self) { group in
            for _ in 0..<8 { group.addTask { try await schedules.runDue(fixture.app, limit: 100) } }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(runs.count == 20 && runs.allSatisfy { $0.outcome == .sent })
        #expect(Set(runs.map(\.id)) == Set(due.map(\.id)))
        for schedule in due {
            let ledger = try await fixture.ledger(schedule.id)
            #expect(ledger.state == .queued && ledger.createdAt >= time)
            #expect(try await schedules.find(fixture.app, schedule.id)?.state == .sent)
        }
        let sequence = try await fixture.store.redis.send(
            RedisCommand("HGET", fixture.key(Keyspace.name), "seq"))
        #expect(try sequence.integer() == 20, "each was committed once")
        #expect(try await schedules.list(fixture.app, start: nil, limit: 10).schedules == [later])
        #expect(try await schedules.runDue(fixture.app, limit: 100).isEmpty)
    }

    @Test func `a worker that looked before another one's claim takes nothing`() async throws {
        let fixture = try await PushFixture.start()
        let store = fixture.store
        let time = try await fixture.redisTime()
        let due = schedule(due: time - 1_000)
        #expect(try await store.schedules.create(fixture.app, [due]) != nil)
        func claim(at now: Int64) async throws -> String {
            try await store.redis.run(
                Lua.scheduleClaim, keys: ["at": store.keys.schedule(fixture.app, due.id)],
                ["now": .int(now), "hold": .int(Schedules.hold.milliseconds)])[0].string()
        }
        #expect(try await claim(at: time) == "taken")
        #expect(try await claim(at: time - 40) == "held")
    }

    /// Longer than any test takes.
    private static let hold: Duration = .seconds(600)

    /// Keeps workers from a schedule.
    private func hold(_ fixture: PushFixture, _ key: RedisKey, _ state: RedisArgument) async throws {
        let until = try await fixture.redisTime() + Self.hold.milliseconds
        try await fixture.store.redis.send(RedisCommand("HSET", key, "state", state, "until", .int(until)))
    }

    @Test func `a worker that dies after the commit leaves no second push`() async throws {
        let fixture = try await PushFixture.start()
        var schedules = fixture.store.schedules
        schedules.longestHold = Self.hold
        let waiting = schedule(due: try await fixture.redisTime())
        _ = try await schedules.create(fixture.app, [waiting])
        let key = fixture.store.keys.schedule(fixture.app, waiting.id)
        // A worker claimed the schedule, committed it, and died.
        _ = try await fixture.store.pushes.accept(
            fixture.app, waiting.publish, id: waiting.id, payload: waiting.payload, timestampOffset: 20,
            now: waiting.due)
        try await hold(fixture, key, "taken")
        #expect(try await schedules.runDue(fixture.app, limit: 10).isEmpty, "it is in hand")
        #expect(try await schedules.cancel(fixture.app, waiting.id, now: waiting.due) == .tooLate)
        try await fixture.store.redis.send(RedisCommand("HSET", key, "until", "0"))
        #expect(try await schedules.runDue(fixture.app, limit: 10).map(\.outcome) == [.sent])
        guard case .accepted(_, let sequence, _) = try await fixture.publish("match-1") else {
            throw Unexpected(what: "")
        }
        #expect(sequence == 2)
    }

    @Test func `deleted before its time it sends nothing`() async throws {
        let fixture = try await PushFixture.start()
        let schedules = fixture.store.schedules
        let waiting = schedule(due: try await fixture.redisTime() + 50)
        _ = try await schedules.create(fixture.app, [waiting])
        #expect(try await schedules.cancel(fixture.app, waiting.id, now: 7) == .cancelled)
        // The call that cancelled it died before it took it out of the timer.
        let timer = fixture.store.keys.at(fixture.app)
        try await fixture.store.redis.run("ZADD", timer, "9", .string(waiting.id.description))
        #expect(try await schedules.cancel(fixture.app, waiting.id, now: 8) == .finished)
        #expect(try await fixture.store.redis.run("ZCARD", timer).integer() == 0)
        #expect(try await schedules.cancel(fixture.app, .random(), now: 8) == nil)
        #expect(try await schedules.cancel(try AppKey("other"), waiting.id, now: 8) == nil)
        // Restore the entry in the timer, as if the process had died before it removed that.
        try await fixture.store.redis.send(
            RedisCommand("ZADD", fixture.store.keys.at(fixture.app), "1", .string(waiting.id.description)))
        #expect(try await schedules.runDue(fixture.app, limit: 10).isEmpty)
        #expect(try await schedules.list(fixture.app, start: nil, limit: 10).total == 0)
        let ledger = try await schedules.find(fixture.app, waiting.id)?.ledger
        #expect(ledger?.state == .cancelled && ledger?.finishedAt == 7)
        #expect(try await fixture.store.pushes.ledger(fixture.app, waiting.id) == nil)
    }

    private func score(_ fixture: PushFixture, _ id: PushID) async throws -> String {
        let key = fixture.store.keys.at(fixture.app)
        return try await fixture.store.redis.send(RedisCommand("ZSCORE", key, .string(id.description))).string()
    }

    @Test func `replaced it goes out at its new time with its new state`() async throws {
        let fixture = try await PushFixture.start()
        let schedules = fixture.store.schedules
        let time = try await fixture.redisTime()
        var first = schedule(due: time - 1, timestamp: 1_795_000_000)
        first.label = "kick-off"
        _ = try await schedules.create(fixture.app, [first])
        // Postpone the schedule. Nothing of the first version remains, and no worker runs it at the old time.
        var later = schedule(due: time + 3_600_000, id: first.id)
        later.createdAt = 7
        guard case .replaced(let standing) = try await schedules.replace(fixture.app, later) else {
            throw Unexpected(what: "not replaced")
        }
        #expect(standing.createdAt == first.createdAt && standing.label == nil && standing.publish.timestamp == nil)
        #expect(try await schedules.find(fixture.app, first.id) == standing)
        #expect(try await score(fixture, first.id) == "\(later.due)")
        #expect(try await schedules.runDue(fixture.app, limit: 10).isEmpty)
        // Move it to an earlier time again.
        var sooner = schedule(due: time, id: first.id)
        sooner.payload = Array(#"{"aps":{"timestamp":0000000000,"x":1}}"#.utf8)
        _ = try await schedules.replace(fixture.app, sooner)
        #expect(try await schedules.runDue(fixture.app, limit: 10).map(\.outcome) == [.sent])
        let claim = try await fixture.claimed("match-1", first.id)
        #expect(String(decoding: claim.record.payload, as: UTF8.self).hasSuffix(#","x":1}}"#))
        #expect(try await schedules.replace(fixture.app, later) == .tooLate)
        #expect(try await schedules.list(fixture.app, start: nil, limit: 10).total == 0)
    }

    @Test func `a schedule that is claimed or finished is not replaced`() async throws {
        let fixture = try await PushFixture.start()
        let schedules = fixture.store.schedules
        let waiting = schedule(due: try await fixture.redisTime() + 3_600_000)
        #expect(try await schedules.replace(fixture.app, waiting) == nil)
        _ = try await schedules.create(fixture.app, [waiting])
        #expect(try await schedules.replace(try AppKey("other"), waiting) == nil)
        let key = fixture.store.keys.schedule(fixture.app, waiting.id)
        try await fixture.store.redis.send(RedisCommand("HSET", key, "state", "taken"))
        var other = waiting
        other.label = "other"
        #expect(try await schedules.replace(fixture.app, other) == .tooLate)
        #expect(try await schedules.find(fixture.app, waiting.id)?.label == nil)
        try await fixture.store.redis.send(RedisCommand("HSET", key, "state", "scheduled"))
        _ = try await schedules.cancel(fixture.app, waiting.id, now: 7)
        #expect(try await schedules.replace(fixture.app, other) == .finished)
        #expect(try await schedules.list(fixture.app, start: nil, limit: 10).total == 0)
    }

    /// The process dies at one of two points: before the record was written, and after it.
    @Test func `a timer that is early sends nothing and is set right`() async throws {
        let fixture = try await PushFixture.start()
        let schedules = fixture.store.schedules
        let waiting = schedule(due: try await fixture.redisTime() + 3_600_000)
        _ = try await schedules.create(fixture.app, [waiting])
        try await fixture.store.redis.send(
            RedisCommand("ZADD", fixture.store.keys.at(fixture.app), "1", .string(waiting.id.description)))
        #expect(try await schedules.runDue(fixture.app, limit: 10).isEmpty)
        #expect(try await score(fixture, waiting.id) == "\(waiting.due)")
        #expect(try await schedules.find(fixture.app, waiting.id)?.state == .scheduled)
        // A worker with an older record raised the time. It must be lowered again.
        try await schedules.raise(fixture.app, waiting.id, to: waiting.due + 60_000)
        #expect(try await score(fixture, waiting.id) == "\(waiting.due)")
    }

    @Test func `what is refused at its time says why`() async throws {
        let fixture = try await PushFixture.start()
        let schedules = fixture.store.schedules
        try await fixture.track("match-1", count: 1)
        _ = try await fixture.accepted("match-1", event: .end)
        let waiting = schedule(due: try await fixture.redisTime())
        _ = try await schedules.create(fixture.app, [waiting])
        #expect(try await schedules.runDue(fixture.app, limit: 10).map(\.outcome) == [.failed("NameEnded")])
        let found = try await schedules.find(fixture.app, waiting.id)
        #expect(found?.state == .failed && found?.reason == "NameEnded" && found?.finishedAt != nil)
        #expect(found?.ledger?.state == .failed && found?.ledger?.errors == ["NameEnded": 1])
    }

    @Test func `a late one does not replace what was published meanwhile`() async throws {
        let fixture = try await PushFixture.start()
        let schedules = fixture.store.schedules
        let time = try await fixture.redisTime()
        // No worker ran for two minutes.
        let overtaken = schedule(due: time - 120_000)
        _ = try await schedules.create(fixture.app, [overtaken])
        _ = try await fixture.publish("match-1", now: time - 60_000)
        #expect(try await schedules.runDue(fixture.app, limit: 10).map(\.outcome) == [.failed("TimestampBehind")])
        // A name without another publish gets the push, with its original time.
        var alone = schedule(due: time - 120_000)
        alone.publish.name = try ActivityName("match-2")
        _ = try await schedules.create(fixture.app, [alone])
        #expect(try await schedules.runDue(fixture.app, limit: 10).map(\.outcome) == [.sent])
        let claim = try await fixture.claimed("match-2", alone.id)
        #expect(
            String(decoding: claim.record.payload, as: UTF8.self)
                == #"{"aps":{"timestamp":\#((time - 120_000) / 1_000)}}"#)
    }

    @Test func `a full queue is waited for`() async throws {
        let fixture = try await PushFixture.start()
        var schedules = fixture.store.schedules
        schedules.longestHold = Self.hold
        let time = try await fixture.redisTime()
        let fillers = (0..<Pushes.mostUnswept).flatMap { [RedisArgument.int($0), .string("filler-\($0)")] }
        try await fixture.store.redis.send(RedisCommand("ZADD", fixture.key(Keyspace.unswept), fillers))
        let waiting = schedule(due: time - 2)
        let patient = schedule(due: time - Schedules.patience)
        _ = try await schedules.create(fixture.app, [waiting, patient])
        let runs = try await schedules.runDue(fixture.app, limit: 10)
        #expect(runs.first { $0.id == waiting.id }?.outcome == .postponed("QueueFull"))
        #expect(runs.first { $0.id == patient.id }?.outcome == .failed("QueueFull"), "ten minutes were enough")
        let found = try await schedules.find(fixture.app, waiting.id)
        #expect(found?.state == .scheduled && found?.reason == "QueueFull" && found?.due == waiting.due)
        // There is room now, but the schedule is tried again only after five seconds. Later schedules of the
        // same name wait for it.
        try await fixture.store.redis.send(RedisCommand("DEL", fixture.key(Keyspace.unswept)))
        let behind = schedule(due: time - 1)
        _ = try await schedules.create(fixture.app, [behind])
        let key = fixture.store.keys.schedule(fixture.app, waiting.id)
        let until = try await fixture.store.redis.send(RedisCommand("HGET", key, "until"))
        #expect(try (Int(until.string()) ?? 0) >= time + 5_000)
        try await hold(fixture, key, "scheduled")
        #expect(try await schedules.runDue(fixture.app, limit: 10).isEmpty)
        try await fixture.store.redis.send(RedisCommand("HSET", key, "until", "0"))
        let last = try await schedules.runDue(fixture.app, limit: 10)
        #expect(last.map(\.outcome) == [.sent, .sent] && last.map(\.id) == [waiting.id, behind.id])
    }

    private func sequence(_ fixture: PushFixture, _ schedule: Schedule) async throws -> Int {
        let tag = fixture.store.keys.tag(fixture.app, schedule.publish.name)
        let key = fixture.store.keys.push(tag, schedule.id)
        return try Int(await fixture.store.redis.send(RedisCommand("HGET", key, "seq")).string()) ?? 0
    }

    @Test func `due together they are committed in the order of their times by any number of workers`() async throws {
        let fixture = try await PushFixture.start()
        let schedules = fixture.store.schedules
        let time = try await fixture.redisTime()
        // Some are late by seconds, as after a restart, and some by minutes.
        let pairs = try (0..<60).map { number in
            let behind: Int64 = number % 2 == 0 ? 0 : 90_000
            return try [10_000, 5_000].map { (ago: Int64) in
                var one = schedule(due: time - behind - ago)
                one.publish.name = try ActivityName("order-\(number)")
                return one
            }
        }
        _ = try await schedules.create(fixture.app, pairs.flatMap(\.self).shuffled())
        try await eventually("all are committed") {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 { group.addTask { _ = try await schedules.runDue(fixture.app, limit: 25) } }
                try await group.waitForAll()
            }
            return try await schedules.list(fixture.app, start: nil, limit: 1).total == 0
        }
        for pair in pairs {
            #expect(try await sequence(fixture, pair[0]) == 1)
            #expect(try await sequence(fixture, pair[1]) == 2)
        }
    }

    @Test func `a schedule that another worker has claimed holds back later ones of its name`() async throws {
        let fixture = try await PushFixture.start()
        var schedules = fixture.store.schedules
        schedules.longestHold = Self.hold
        let time = try await fixture.redisTime()
        let (first, second) = (schedule(due: time - 1_000), schedule(due: time - 500))
        var other = schedule(due: time - 100)
        other.publish.name = try ActivityName("match-2")
        _ = try await schedules.create(fixture.app, [first, second, other])
        let key = fixture.store.keys.schedule(fixture.app, first.id)
        try await hold(fixture, key, "taken")
        #expect(try await schedules.runDue(fixture.app, limit: 10).map(\.id) == [other.id])
        try await hold(fixture, key, "taken")
        #expect(try await schedules.runDue(fixture.app, limit: 10).isEmpty)
        // A batch that holds only waiting schedules continues after them.
        var third = schedule(due: time - 50)
        third.publish.name = try ActivityName("match-3")
        _ = try await schedules.create(fixture.app, [third])
        try await hold(fixture, key, "taken")
        #expect(try await schedules.runDue(fixture.app, limit: 2).map(\.id) == [third.id])
        // The worker that claimed it has died.
        try await fixture.store.redis.send(RedisCommand("HSET", key, "until", "0"))
        #expect(try await schedules.runDue(fixture.app, limit: 10).map(\.id) == [first.id, second.id])
    }

    @Test func `thousands of due schedules of a full name hold up no other name`() async throws {
        let fixture = try await PushFixture.start()
        let schedules = fixture.store.schedules
        let time = try await fixture.redisTime()
        let fillers = (0..<Pushes.mostUnswept).flatMap { [RedisArgument.int($0), .string("filler-\($0)")] }
        try await fixture.store.redis.send(RedisCommand("ZADD", fixture.key(Keyspace.unswept), fillers))
        // All are due at the same time.
        for _ in 0..<13 {
            let due = (0..<500).map { _ in schedule(due: time - 1_000) }
            #expect(try await schedules.create(fixture.app, due) != nil)
        }
        var other = schedule(due: time - 500)
        other.publish.name = try ActivityName("match-2")
        #expect(try await schedules.create(fixture.app, [other]) != nil)
        let first = try await schedules.list(fixture.app, start: nil, limit: 1).schedules[0]
        var runs: [ScheduleRun] = []
        for _ in 0..<3 { runs += try await schedules.runDue(fixture.app, limit: 256) }
        #expect(runs.filter { $0.outcome == .sent }.map(\.id) == [other.id])
        let tried = Set(runs.filter { $0.outcome != .sent }.map(\.id))
        #expect(tried == [first.id], "with room in the queue, another one would pass it")
        // The rest of the look passes none of the name, and the next one begins with the oldest again.
        try await fixture.store.redis.send(RedisCommand("DEL", fixture.key(Keyspace.unswept)))
        let key = fixture.store.keys.schedule(fixture.app, first.id)
        try await fixture.store.redis.send(RedisCommand("HSET", key, "until", "0"))
        #expect(try await schedules.runDue(fixture.app, limit: 256).isEmpty)
        let next = try await schedules.runDue(fixture.app, limit: 256)
        #expect(next.first?.id == first.id && next.count == 256 && next.allSatisfy { $0.outcome == .sent })
    }

    @Test func `a schedule that is refused for good delays no other`() async throws {
        let fixture = try await PushFixture.start()
        let schedules = fixture.store.schedules
        let time = try await fixture.redisTime()
        let first = schedule(due: time - 1_000, timestamp: Int(time / 1_000) - 500)
        let second = schedule(due: time - 500)
        _ = try await fixture.publish("match-1", now: time - 60_000)
        _ = try await schedules.create(fixture.app, [first, second])
        let runs = try await schedules.runDue(fixture.app, limit: 10)
        #expect(runs.map(\.outcome) == [.failed("TimestampBehind"), .sent] && runs.map(\.id) == [first.id, second.id])
    }

    @Test func `a few seconds late, a newer push supersedes an update, and an alert goes behind it`() async throws {
        let fixture = try await PushFixture.start()
        let schedules = fixture.store.schedules
        let time = try await fixture.redisTime()
        let alert = schedule(due: time - 5_500)
        var update = schedule(due: time - 5_000)
        update.publish.alert = nil
        _ = try await schedules.create(fixture.app, [alert, update])
        _ = try await fixture.publish("match-1", now: time - 2_000)
        let runs = try await schedules.runDue(fixture.app, limit: 10)
        #expect(runs.map(\.outcome) == [.sent, .failed("TimestampBehind")])
        let record = try #require(
            try await fixture.store.sweeps.records(fixture.app, try ActivityName("match-1"), [alert.id])[alert.id])
        #expect(String(decoding: record.payload, as: UTF8.self).contains("\((time - 2_000) / 1_000)"))
    }

    @Test func `a schedule behind one that was sent a little late is not older than it`() async throws {
        let fixture = try await PushFixture.start()
        var schedules = fixture.store.schedules
        let time = try await fixture.redisTime()
        var (first, second) = (schedule(due: time - 9_000), schedule(due: time - 8_000))
        (first.publish.alert, second.publish.alert) = (nil, nil)
        _ = try await schedules.create(fixture.app, [first])
        schedules.punctual = 60_000
        #expect(try await schedules.runDue(fixture.app, limit: 10).map(\.outcome) == [.sent])
        // Then no worker was there for some seconds.
        schedules.punctual = 2_000
        _ = try await schedules.create(fixture.app, [second])
        #expect(try await schedules.runDue(fixture.app, limit: 10).map(\.outcome) == [.sent])
    }

    @Test func `a schedule behind one that was created later is not older than it`() async throws {
        let fixture = try await PushFixture.start()
        let time = try await fixture.redisTime()
        var (first, second) = (schedule(due: time - 9_000), schedule(due: time - 8_000))
        (first.publish.alert, second.publish.alert) = (nil, nil)
        first.createdAt = time - 5_000
        _ = try await fixture.store.schedules.create(fixture.app, [first, second])
        #expect(try await fixture.store.schedules.runDue(fixture.app, limit: 10).map(\.outcome) == [.sent, .sent])
    }

    @Test func `a schedule that is hardly late goes out behind what was published since`() async throws {
        let fixture = try await PushFixture.start()
        var schedules = fixture.store.schedules
        schedules.punctual = 60_000
        let time = try await fixture.redisTime()
        var update = schedule(due: time - 9_000)
        update.publish.alert = nil
        _ = try await schedules.create(fixture.app, [update])
        _ = try await fixture.publish("match-1", now: time)
        #expect(try await schedules.runDue(fixture.app, limit: 10).map(\.outcome) == [.sent])
        let record = try #require(
            try await fixture.store.sweeps.records(fixture.app, try ActivityName("match-1"), [update.id])[update.id])
        #expect(String(decoding: record.payload, as: UTF8.self).contains("\(time / 1_000)"))
    }

    @Test func `a request can be repeated and an app has a limit`() async throws {
        let fixture = try await PushFixture.start()
        var schedules = fixture.store.schedules
        schedules.most = 2
        let time = try await fixture.redisTime()
        let first = schedule(due: time + 60_000)
        #expect(try await schedules.create(fixture.app, [first]) != nil)
        let second = schedule(due: time + 1)
        #expect(try await schedules.create(fixture.app, [first, second]) != nil, "the first counts once")
        let third = schedule(due: time + 2)
        #expect(try await schedules.create(fixture.app, [third]) == nil)
        #expect(try await schedules.find(fixture.app, third.id) == nil)
        #expect(try await schedules.create(try AppKey("other"), [third]) != nil, "each app has its own")
        // A repeated creation after the deletion leaves the schedule deleted.
        _ = try await schedules.cancel(fixture.app, first.id, now: 1)
        #expect(try await schedules.create(fixture.app, [first]) != nil)
        #expect(try await schedules.find(fixture.app, first.id)?.state == .cancelled)
        #expect(try await schedules.list(fixture.app, start: nil, limit: 10).total == 1)
    }

    @Test func `a repeated request does not undo the time of a replacement`() async throws {
        let fixture = try await PushFixture.start()
        let schedules = fixture.store.schedules
        let time = try await fixture.redisTime()
        let created = schedule(due: time + 60_000)
        _ = try await schedules.create(fixture.app, [created])
        for due in [time + 5_000, time + 90_000] {
            let replaced = schedule(due: due, id: created.id)
            guard case .replaced(let standing) = try await schedules.replace(fixture.app, replaced) else {
                Issue.record("it was not replaced")
                return
            }
            #expect(try await schedules.create(fixture.app, [created]) == [standing])
            #expect(try await score(fixture, created.id) == "\(due)")
        }
        // A request that read the record before the replacement comes late.
        let late = try await fixture.store.redis.run(
            Lua.scheduleQueue,
            keys: [
                "at": fixture.store.keys.at(fixture.app), "names": fixture.store.keys.scheduledNames(fixture.app),
            ], ["most": .int(10)], rest: [.int(time + 600_000), .string(created.id.description), ""])
        #expect(try late.isOne())
        #expect(try await score(fixture, created.id) == "\(time + 90_000)")
    }

    @Test func `pages go on even if their first is gone`() async throws {
        let fixture = try await PushFixture.start()
        let schedules = fixture.store.schedules
        let time = try await fixture.redisTime()
        let all = (1...5).map { schedule(due: time + Int64($0) * 60_000) }
        _ = try await schedules.create(fixture.app, all.shuffled())
        let first = try await schedules.list(fixture.app, start: nil, limit: 2)
        #expect(first.schedules.map(\.id) == all[..<2].map(\.id) && first.total == 5 && first.next == all[2].id)
        _ = try await schedules.cancel(fixture.app, all[2].id, now: 1)
        let second = try await schedules.list(fixture.app, start: first.next, limit: 2)
        #expect(second.schedules.map(\.id) == all[3...].map(\.id) && second.total == 4 && second.next == nil)
    }

    @Test func `finished schedules are listed, the latest first, and waiting ones are not`() async throws {
        let fixture = try await PushFixture.start()
        let (schedules, app) = (fixture.store.schedules, fixture.app)
        let time = try await fixture.redisTime()
        let sent = schedule(due: time - 1_000)
        let failed = schedule(due: time - 500, timestamp: 1_000_000_000)
        let cancelled = (0..<3).map { _ in schedule(due: time + 3_600_000) }
        let waiting = schedule(due: time + 3_600_000)
        #expect(try await schedules.create(app, [sent, failed, waiting] + cancelled) != nil)
        #expect(try await schedules.finished(app, start: nil, limit: 10).schedules.isEmpty)
        #expect(try await schedules.runDue(app, limit: 10).count == 2)
        for (number, schedule) in cancelled.enumerated() {
            #expect(try await schedules.cancel(app, schedule.id, now: time + 3_000_000 + Int64(number)) == .cancelled)
        }
        let page = try await schedules.finished(app, start: nil, limit: 10)
        #expect(page.total == 5 && page.next == nil)
        #expect(page.schedules.prefix(3).map(\.id) == cancelled.reversed().map(\.id))
        #expect(Set(page.schedules.suffix(2).map(\.state)) == [.sent, .failed])
        #expect(page.schedules.allSatisfy { $0.finishedAt != nil })
        var (found, start) = ([PushID](), PushID?.none)
        repeat {
            let part = try await schedules.finished(app, start: start, limit: 2)
            found += part.schedules.map(\.id)
            start = part.next
        } while start != nil
        #expect(found == page.schedules.map(\.id))
        #expect(try await schedules.finished(AppKey("other"), start: nil, limit: 10).schedules.isEmpty)
        #expect(try await schedules.finished(app, start: .random(), limit: 10).schedules.isEmpty)
        // A worker died between the note and the record.
        try await schedules.noteFinished(app, waiting.id, now: time + 3_100_000)
        #expect(try await schedules.finished(app, start: nil, limit: 10).schedules.map(\.id) == found)
        // An entry that is no longer kept leaves the list with the next note.
        let later = time + 3_100_001 + fixture.store.keys.retention
        try await schedules.noteFinished(app, sent.id, now: later)
        #expect(try await schedules.finished(app, start: nil, limit: 10).total == 1)
    }

    /// Guards against a new field of `Publish` that is missing in the schedule's record, because it
    /// would be lost silently.
    @Test func `everything of a publish is kept`() async throws {
        let fixture = try await PushFixture.start()
        var publish = Publish(
            name: name, event: .start, audience: .not(.channel(.random())), priority: .low, timestamp: 1,
            contentState: RawJSON(checked: #"{"a":1.50}"#), staleDate: 2, dismissalDate: 3,
            relevanceScore: RawJSON(checked: "4.0"), alert: RawJSON(checked: #"{"title":"ä"}"#),
            attributesType: "T", attributes: RawJSON(checked: "{}"),
            options: PublishOptions(conflate: false, expiry: 5, insist: true, restart: true, trace: .random()))
        publish.options.respectDismissal = true
        publish.options.after = .push(.random())
        publish.life = .seconds(90)
        publish.publisher = Publisher(credential: "master", address: "192.0.2.1")
        publish.contents[.android] = PlatformContent(
            type: "match", contentState: RawJSON(checked: #"{"a":2}"#), dismissalDate: 4)
        // The seventeenth is `traceparent`: the request that made the schedule, and its trace, are over when it is due.
        #expect(
            Mirror(reflecting: publish).children.count == 17 && Mirror(reflecting: publish.options).children.count == 7)
        let schedule = Schedule(
            id: .random(), publish: publish,
            payload: PushContent(payload: [1, 255], contents: publish.contents).stored, timestampOffset: 7,
            due: 4_102_444_800_000, createdAt: 9, label: "kick-off", posted: Array(#"{"p":1}"#.utf8))
        _ = try await fixture.store.schedules.create(fixture.app, [schedule])
        #expect(try await fixture.store.schedules.find(fixture.app, schedule.id) == schedule)
        let life = try await fixture.store.redis.send(
            RedisCommand("PEXPIRETIME", fixture.store.keys.schedule(fixture.app, schedule.id)))
        #expect(try life.integer() == 4_102_444_800_000 + Int(fixture.store.keys.retention))
    }
}
