import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store
@testable import StoreDeliveries
@testable import StoreGround

/// Publishes that wait for a second person: who may decide, that an approved one goes out once, and that others do not.
@Suite struct ApprovalTests {
    private let ann = Approval.Person(identity: "a", publisher: Publisher(credential: "ann", address: "::1"))
    private let bob = Approval.Person(identity: "b", publisher: Publisher(credential: "bob", address: "::1"))
    private let cid = Approval.Person(
        identity: "c", publisher: Publisher(credential: "oidc", address: "::1", who: "Cid"))

    /// A request of Ann.
    private func request(
        _ time: Int64, lapses: Int64 = 3_600_000, wanted: Int64? = nil, id: PushID = .random(), name: String = "match-1"
    ) throws -> Schedule {
        var publish = Publish(name: try ActivityName(name), event: .end, audience: .all)
        publish.publisher = ann.publisher
        var schedule = Schedule(
            id: id, publish: publish, payload: Array(#"{"aps":{"timestamp":0000000000}}"#.utf8), timestampOffset: 20,
            due: time + lapses, createdAt: time, posted: Array("{}".utf8))
        schedule.state = .awaiting
        schedule.approval = Approval(asker: ann.identity, askedAt: time, wanted: wanted)
        return schedule
    }

    func waiting(_ fixture: PushFixture, wanted: Int64? = nil) async throws -> Schedule {
        let schedule = try request(try await fixture.redisTime() - 1_000, wanted: wanted)
        #expect(try await fixture.store.schedules.create(fixture.app, [schedule]) == [schedule])
        return schedule
    }

    private func decide(
        _ fixture: PushFixture, _ schedule: Schedule, _ person: Approval.Person, approves: Bool = true
    ) async throws -> ApprovalResult? {
        try await fixture.store.schedules.decide(
            fixture.app, schedule.id, approves: approves, request: schedule.approval?.request, by: person,
            now: try await fixture.redisTime())
    }

    private func sent(_ fixture: PushFixture) async throws -> Int {
        let sequence = try await fixture.store.redis.run("HGET", fixture.key(Keyspace.name), "seq")
        return Int(try sequence.optionalString() ?? "0") ?? -1
    }

    private func listed(_ fixture: PushFixture) async throws -> [PushID] {
        let now = try await fixture.redisTime()
        return try await fixture.store.schedules.awaiting(fixture.app, start: nil, limit: 10, now: now)
            .schedules.map(\.id)
    }

    private func score(_ fixture: PushFixture, _ id: PushID) async throws -> Int64? {
        try await fixture.store.redis.run("ZSCORE", fixture.store.keys.at(fixture.app), .string(id.description))
            .optionalString().flatMap { Double($0) }.map { Int64($0) }
    }

    // MARK: Decisions as values

    @Test(arguments: [
        (ApprovalRule.all, [ActivityEvent.start, .update, .end]), (.startsAndEnds, [.start, .end]), (.ends, [.end]),
    ])
    func `the rule names events`(_ rule: ApprovalRule, _ events: [ActivityEvent]) {
        #expect(ActivityEvent.allCases.filter(rule.covers) == events)
    }

    @Test func `a request lapses some time after it was made or was to go out, and before it is stale`() {
        func lapse(wanted: Int64? = nil, stale: Int? = nil, expiry: Int? = nil) -> Int64 {
            var publish = Publish(name: try! ActivityName("n"), event: .update, audience: .all, staleDate: stale)
            publish.options.expiry = expiry
            return Approval(asker: "a", askedAt: 1_000_000, wanted: wanted).lapse(of: publish, after: .seconds(60))
        }
        #expect(lapse() == 1_060_000)
        #expect(lapse(wanted: 900_000) == 1_060_000, "its time was past when it was asked for")
        #expect(lapse(wanted: 2_000_000) == 2_060_000)
        #expect(lapse(stale: 1_030) == 1_030_000 && lapse(stale: 1_050, expiry: 1_040) == 1_040_000)
        #expect(lapse(stale: 999, expiry: 0) == 1_060_000, "dates of the past say nothing")
    }

    @Test func `what opens publish, and who must propose`() {
        #expect(Set([CredentialScope.propose]).opens(.publish) && Set([CredentialScope.publish]).opens(.publish))
        #expect(
            !Set([CredentialScope.publish, .propose]).opens(.approve) && !Set([CredentialScope.approve]).opens(.publish)
        )
        #expect(
            Set([CredentialScope.propose, .read]).mustPropose && !Set([CredentialScope.propose, .publish]).mustPropose)
        #expect(!Set([CredentialScope.publish]).mustPropose)
    }

    // MARK: Once, and by another person

    @Test func `nothing goes out before somebody approves, and then once whoever approves it how often`() async throws {
        let fixture = try await PushFixture.start()
        let schedules = fixture.store.schedules
        let waiting = try await waiting(fixture)
        #expect(try await schedules.find(fixture.app, waiting.id) == waiting)
        #expect(try await listed(fixture) == [waiting.id])
        #expect(try await schedules.runDue(fixture.app, limit: 10).isEmpty)
        #expect(try await sent(fixture) == 0)
        let results = try await withThrowingTaskGroup(of: ApprovalResult?.self) { group in
            for person in [bob, cid, bob, cid] { group.addTask { try await decide(fixture, waiting, person) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        var deciders: Set<String> = []
        for case .decided(let schedule) in results { deciders.insert(schedule.approval?.decision?.by.identity ?? "") }
        #expect(deciders.count == 1, "one of them has approved it: \(results)")
        let others = results.filter { if case .settled = $0 { true } else { false } }
        #expect(others.count == 2, "the other one learns of it both times")
        let runs = try await withThrowingTaskGroup(of: [ScheduleRun].self) { group in
            for _ in 0..<4 { group.addTask { try await schedules.runDue(fixture.app, limit: 10) } }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(runs.map(\.outcome) == [.sent])
        #expect(try await sent(fixture) == 1)
        #expect(try await listed(fixture).isEmpty)
        // A repeated approval of a push that is sent changes nothing.
        let first = try #require(try await schedules.find(fixture.app, waiting.id))
        let decider = try #require(first.approval?.decision?.by)
        #expect(try await decide(fixture, waiting, decider) == .decided(first))
        #expect(try await schedules.runDue(fixture.app, limit: 10).isEmpty)
        #expect(try await sent(fixture) == 1)
        let ledger = try await fixture.ledger(waiting.id)
        #expect(ledger.publisher == ann.publisher, "the push is that of the person who asked")
    }

    @Test func `the person who asked decides neither way, whatever the name is`() async throws {
        let fixture = try await PushFixture.start()
        let waiting = try await waiting(fixture)
        let renamed = Approval.Person(identity: "a", publisher: Publisher(credential: "oidc", address: "::2", who: "X"))
        for approves in [true, false] {
            #expect(try await decide(fixture, waiting, ann, approves: approves) == .own)
            #expect(try await decide(fixture, waiting, renamed, approves: approves) == .own)
        }
        #expect(try await fixture.store.schedules.find(fixture.app, waiting.id) == waiting)
        #expect(try await fixture.store.schedules.runDue(fixture.app, limit: 10).isEmpty)
    }

    @Test func `rejected it never goes out`() async throws {
        let fixture = try await PushFixture.start()
        let schedules = fixture.store.schedules
        let waiting = try await waiting(fixture)
        guard case .decided(let rejected) = try await decide(fixture, waiting, bob, approves: false) else {
            throw Unexpected(what: "not rejected")
        }
        #expect(rejected.state == .rejected && rejected.ledger?.state == .cancelled)
        #expect(try await schedules.find(fixture.app, waiting.id) == rejected)
        #expect(try await decide(fixture, waiting, bob, approves: false) == .decided(rejected))
        for person in [bob, cid] { #expect(try await decide(fixture, waiting, person) == .settled(rejected)) }
        #expect(try await listed(fixture).isEmpty)
        #expect(try await score(fixture, waiting.id) == nil)
        #expect(try await schedules.finished(fixture.app, start: nil, limit: 10).schedules == [rejected])
        #expect(try await schedules.cancel(fixture.app, waiting.id, now: 1) == .finished)
        #expect(try await schedules.replace(fixture.app, try request(1, id: waiting.id)) == .finished)
        #expect(try await schedules.runDue(fixture.app, limit: 10).isEmpty)
        #expect(try await sent(fixture) == 0)
    }

    @Test func `approved before its time it waits for that, and after it goes out at once`() async throws {
        let fixture = try await PushFixture.start()
        let time = try await fixture.redisTime()
        let later = try await waiting(fixture, wanted: time + 60_000)
        guard case .decided(let approved) = try await decide(fixture, later, bob) else {
            throw Unexpected(what: "not approved")
        }
        #expect(approved.state == .scheduled && approved.due == time + 60_000)
        #expect(try await score(fixture, later.id) == time + 60_000)
        let past = try await waiting(fixture, wanted: time - 500)
        _ = try await decide(fixture, past, bob)
        #expect(try await fixture.store.schedules.runDue(fixture.app, limit: 10).map(\.id) == [past.id])
    }

    // MARK: Changes

    @Test func `an edit withdraws the request and an approval that was given`() async throws {
        let fixture = try await PushFixture.start()
        let schedules = fixture.store.schedules
        let time = try await fixture.redisTime()
        let first = try await waiting(fixture, wanted: time + 60_000)
        let second = try request(time, wanted: time + 90_000, id: first.id)
        guard case .replaced(let standing) = try await schedules.replace(fixture.app, second) else {
            throw Unexpected(what: "not replaced")
        }
        #expect(try await schedules.find(fixture.app, first.id) == standing)
        #expect(try await decide(fixture, first, bob) == .changed, "Bob has seen the first one")
        guard case .decided = try await decide(fixture, second, bob) else { throw Unexpected(what: "not approved") }
        let third = try request(time, wanted: time + 90_000, id: first.id)
        guard case .replaced = try await schedules.replace(fixture.app, third) else {
            throw Unexpected(what: "not replaced")
        }
        let found = try #require(try await schedules.find(fixture.app, first.id))
        #expect(found.state == .awaiting && found.approval?.decision == nil)
        #expect(try await listed(fixture) == [first.id])
        #expect(try await score(fixture, first.id) == third.due)
        #expect(try await decide(fixture, second, bob) == .changed)
        // Somebody who needs no approval puts a publish of their own there.
        var free = third
        (free.state, free.approval, free.due) = (.scheduled, nil, time - 1)
        guard case .replaced = try await schedules.replace(fixture.app, free) else {
            throw Unexpected(what: "not replaced")
        }
        #expect(try await schedules.find(fixture.app, first.id)?.approval == nil)
        #expect(try await listed(fixture).isEmpty)
        #expect(try await schedules.runDue(fixture.app, limit: 10).map(\.outcome) == [.sent])
    }

    @Test func `of an approval and an edit at once, what goes out is approved`() async throws {
        let fixture = try await PushFixture.start()
        let schedules = fixture.store.schedules
        for _ in 0..<20 {
            let time = try await fixture.redisTime()
            let first = try await waiting(fixture, wanted: time + 600_000)
            let second = try request(time, wanted: time + 600_000, id: first.id)
            async let approval = decide(fixture, first, bob)
            async let edit = schedules.replace(fixture.app, second)
            _ = try await (approval, edit)
            let found = try #require(try await schedules.find(fixture.app, first.id))
            #expect(found.state == .awaiting && found.approval?.request == second.approval?.request)
            _ = try await schedules.cancel(fixture.app, first.id, now: time)
        }
    }

    @Test func `the person who asked may withdraw it`() async throws {
        let fixture = try await PushFixture.start()
        let waiting = try await waiting(fixture)
        #expect(try await fixture.store.schedules.cancel(fixture.app, waiting.id, now: 7) == .cancelled)
        #expect(try await listed(fixture).isEmpty)
        guard case .settled(let found) = try await decide(fixture, waiting, bob) else {
            throw Unexpected(what: "decided")
        }
        #expect(found.state == .cancelled)
        #expect(try await score(fixture, waiting.id) == nil)
    }

    // MARK: Lapses and crashes

    @Test func `nobody decided in time: it lapses once, and delays no other schedule of its name`() async throws {
        let fixture = try await PushFixture.start()
        let schedules = fixture.store.schedules
        let time = try await fixture.redisTime()
        let lapsing = try request(time - 10_000, lapses: 9_000)
        _ = try await schedules.create(fixture.app, [lapsing])
        #expect(try await decide(fixture, lapsing, bob) == .lapsed)
        #expect(try await listed(fixture).isEmpty, "also before a worker has seen it")
        var other = try request(time)
        (other.state, other.approval, other.due) = (.scheduled, nil, time - 500)
        _ = try await schedules.create(fixture.app, [other])
        let runs = try await withThrowingTaskGroup(of: [ScheduleRun].self) { group in
            for _ in 0..<4 { group.addTask { try await schedules.runDue(fixture.app, limit: 10) } }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        let outcomes = Dictionary(runs.map { ($0.id, $0.outcome) }) { $1 }
        #expect(outcomes == [lapsing.id: .lapsed(lapsing.publish.name, ann.publisher), other.id: .sent])
        #expect(runs.count == 2)
        let found = try #require(try await schedules.find(fixture.app, lapsing.id))
        #expect(found.state == .failed && found.reason == Schedule.lapsed)
        #expect(found.ledger?.errors == [Schedule.lapsed: 1])
        #expect(try await decide(fixture, lapsing, bob) == .settled(found))
    }

    @Test func `a process that dies behind the approval leaves a push that goes out once`() async throws {
        let fixture = try await PushFixture.start()
        let (schedules, store) = (fixture.store.schedules, fixture.store)
        let waiting = try await waiting(fixture)
        let now = try await fixture.redisTime()
        var decided = waiting
        decided.approval?.decision = Approval.Decision(by: bob, at: now)
        (decided.state, decided.due) = (.scheduled, now)
        // Before the decision it brought the timer forward. A worker that looks sets it right.
        try await schedules.lower(fixture.app, waiting.id, to: now)
        #expect(try await schedules.runDue(fixture.app, limit: 10).isEmpty)
        #expect(try await score(fixture, waiting.id) == waiting.due)
        // It died with the decision written, and nothing after it. The timer is early unless a worker looked.
        let isWritten = try await store.redis.run(
            Lua.scheduleDecide, keys: ["at": store.keys.schedule(fixture.app, waiting.id)],
            ["request": .string(waiting.approval?.request ?? ""), "expiresAt": .int(now + 60_000)],
            rest: decided.fields
        ).isOne()
        #expect(isWritten)
        #expect(try await schedules.runDue(fixture.app, limit: 10).isEmpty)
        // Its list has it still, and readers skip it.
        #expect(try await store.redis.run("ZCARD", store.keys.awaitingSchedules(fixture.app)).integer() == 1)
        #expect(try await listed(fixture).isEmpty)
        // The client repeats the call.
        #expect(try await decide(fixture, waiting, bob) == .decided(decided))
        #expect(try await store.redis.run("ZCARD", store.keys.awaitingSchedules(fixture.app)).integer() == 0)
        #expect(try await schedules.runDue(fixture.app, limit: 10).map(\.outcome) == [.sent])
        #expect(try await sent(fixture) == 1)
    }

    @Test func `a request that nobody can read goes out of the timer and not to devices`() async throws {
        let fixture = try await PushFixture.start()
        let store = fixture.store
        let time = try await fixture.redisTime()
        let broken = try request(time - 10_000, lapses: 5_000)
        _ = try await store.schedules.create(fixture.app, [broken])
        try await store.redis.run("HDEL", store.keys.schedule(fixture.app, broken.id), "request")
        #expect(try await store.schedules.runDue(fixture.app, limit: 10).isEmpty)
        #expect(try await score(fixture, broken.id) == nil)
        #expect(try await sent(fixture) == 0)
    }

    @Test func `a list is of the names of its reader`() async throws {
        let fixture = try await PushFixture.start()
        let time = try await fixture.redisTime()
        let requests = try (0..<4).map { number in
            try request(time, lapses: 60_000 + Int64(number), name: number == 2 ? "other" : "match-1")
        }
        _ = try await fixture.store.schedules.create(fixture.app, requests)
        func page(_ start: PushID?) async throws -> ([PushID], Int, PushID?) {
            let page = try await fixture.store.schedules.awaiting(
                fixture.app, namesFrom: "match-", start: start, limit: 2, now: time)
            return (page.schedules.map(\.id), page.total, page.next)
        }
        let first = try await page(nil)
        #expect(first == ([requests[0].id, requests[1].id], 3, requests[3].id))
        #expect(try await page(first.2) == ([requests[3].id], 3, nil))
        #expect(try await fixture.store.schedules.awaitingCount(fixture.app, now: time) == 4)
    }
}
