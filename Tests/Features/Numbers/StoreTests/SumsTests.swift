import LiveActivity
import Redis
import Synchronization
import TestSupport
import Testing

@testable import Store
@testable import StoreDeliveries
@testable import StoreGround

/// The sums of pushes that outlive the pushes: each push counts once, whatever dies and whoever works beside.
@Suite struct SumsTests {
    private static let hour = SumsFixture.hour

    /// Pushes of the last five days and of this hour, to two names.
    private func history(_ fixture: SumsFixture) async throws {
        for (age, name) in [
            (0.1, "a"), (0.2, "b"), (1.2, "a"), (5, "a"), (23, "b"), (25, "a"), (26, "b"), (30, "a"), (49, "b"),
            (49.1, "b"), (120, "a"),
        ] {
            try await fixture.push(age, name)
        }
    }

    @Test func `open hours have drafts, older ones are closed, and days have both`() async throws {
        let fixture = try await SumsFixture()
        try await history(fixture)
        #expect(try await fixture.total() == [0, 0, 0], "no worker has counted yet")
        try await fixture.work()
        #expect(try await fixture.total() == [11, 110, 88])
        #expect(try await fixture.total("b") == [5, 50, 40])
        #expect(try await fixture.total(by: .hour) == [11, 110, 88])
        #expect(try await fixture.store.sums.progress(fixture.app).next == fixture.hour - 23)
        // 16 and 19 to 21 November.
        #expect(try await fixture.days() == [8, 16, 32, 32])
        // A second look changes nothing, also a day later, when all of these hours are closed.
        for age: Int64 in [0, 1, 13, 40] {
            fixture.now += age * Self.hour
            try await fixture.work()
            #expect(try await fixture.total() == [11, 110, 88], "\(age)")
        }
        let view = try await fixture.store.sums.read(
            fixture.app, by: .day, 20_770...20_790, .whole(try ActivityName("a")))
        let counts = view.total.sums.values.reduce(into: SumCounts()) { $0 += $1 }
        #expect(counts.largest == 10 && counts.reached == 6 && counts.lasted == 6 * 1_500 && counts.longest == 1_500)
    }

    @Test func `the sums of last week stay when its pushes are gone`() async throws {
        let fixture = try await SumsFixture()
        let pushes = try await [fixture.push(2), fixture.push(3, "match-2"), fixture.push(3.1, "match-2")]
        for _ in 0..<26 {
            try await fixture.work()
            fixture.now += Self.hour
        }
        for (push, name) in zip(pushes, ["match-1", "match-2", "match-2"]) { try await fixture.forget(push, name) }
        fixture.now += 9 * 24 * Self.hour
        try await fixture.work()
        #expect(try await fixture.total() == [3, 30, 24])
        #expect(try await fixture.total("match-2", by: .hour) == [2, 20, 16])
        let day = fixture.store.keys.daySums(fixture.app, SumsFixture.start / Sums.Period.day.length)
        let left = try await fixture.store.redis.run("PTTL", day).integer()
        #expect(Int64(left) > 399 * Sums.Period.day.length)
    }

    /// Ends a run at its n-th step, as kill -9 does.
    private final class Death: Sendable {
        private let left: Mutex<Int>
        let step: Sums.Step

        init(_ step: Sums.Step, at number: Int) {
            self.step = step
            left = Mutex(number)
        }

        func check(_ step: Sums.Step) throws(StoreError) {
            guard step == self.step else { return }
            let isNow = left.withLock { left in
                left -= 1
                return left == 0
            }
            if isNow { throw .corrupt("a death") }
        }
    }

    @Test(arguments: [Sums.Step.begun, .counted, .written, .drafted, .corrected], [1, 2, 20, 100])
    func `a death between any two steps loses no push and counts none twice`(step: Sums.Step, number: Int) async throws
    {
        let fixture = try await SumsFixture()
        try await history(fixture)
        let retried = try await fixture.push(
            27, "c", targets: 10, delivered: 4, failed: 6, deadline: fixture.now + 50 * Self.hour)
        var sums = fixture.store.sums
        let death = Death(step, at: number)
        sums.reached = { (step) throws(StoreError) in try death.check(step) }
        try? await sums.work(fixture.app, owner: "worker-1")
        try await fixture.set(retried, "c", ["delivered", 9, "failed", 1])
        // The dead worker's lease ends, or it starts again under its name.
        try? await sums.work(fixture.app, owner: "worker-1")
        try await fixture.work()
        fixture.now += 3 * Self.hour
        try await fixture.work()
        #expect(try await fixture.total() == [12, 120, 88 + 9])
        #expect(try await fixture.total("c") == [1, 10, 9])
        #expect(try await fixture.total(by: .hour) == [12, 120, 88 + 9])
    }

    @Test func `workers at the same moment count each push once`() async throws {
        let fixture = try await SumsFixture()
        try await history(fixture)
        let (sums, app) = (fixture.store.sums, fixture.app)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<6 {
                group.addTask { while try await sums.closeHour(app) {} }
            }
            try await group.waitForAll()
        }
        try await fixture.work()
        #expect(try await fixture.total() == [11, 110, 88])
    }

    @Test func `a worker that slept before its write finds the hour closed`() async throws {
        let fixture = try await SumsFixture()
        try await fixture.push(25)
        let (store, app) = (fixture.store, fixture.app)
        while try await store.sums.progress(app).next ?? 0 < fixture.hour - 25 {
            _ = try await store.sums.closeHour(app)
        }
        let counted = try #require(try await store.sums.count(app, hour: fixture.hour - 25))
        #expect(counted.pushes == 1)
        let revision = try await store.sums.progress(app).revision
        try await fixture.work()
        // The slow one writes what it has computed from the revision of before.
        let reply = try await store.redis.run(
            Lua.sumsChange,
            keys: [
                "state": store.keys.sumsState(app), "hour": store.keys.hourSums(app, fixture.hour - 25),
                "day": store.keys.daySums(app, (fixture.hour - 25) / 24), "open": store.keys.watchedPushes(app),
            ],
            [
                "revision": .string("\(revision)"), "begins": "", "closes": .string("\(fixture.hour - 25)"),
                "after": .string("\(fixture.hour - 24)"), "hourLife": "0", "dayLife": "0", "hourFields": 0,
                "dayFields": 1, "most": 1_000,
            ], rest: ["update ios", "0,0,2,20,16"])
        #expect(try !reply.isOne())
        // And a slow draft opens no hour again.
        try await store.sums.draft(app, hour: fixture.hour - 25)
        #expect(try await fixture.total() == [1, 10, 8])
        #expect(try await fixture.total(by: .hour) == [1, 10, 8])
    }

    @Test func `another worker's lease keeps the second one from the same work`() async throws {
        let fixture = try await SumsFixture()
        try await fixture.push(2)
        let lease = fixture.store.keys.sumsLease(fixture.app)
        try await fixture.store.redis.run("SET", lease, "worker-2")
        try await fixture.work()
        #expect(try await fixture.total() == [0, 0, 0])
        try await fixture.store.redis.run("DEL", lease)
        try await fixture.work()
        #expect(try await fixture.total() == [1, 10, 8])
        #expect(try await fixture.store.redis.run("EXISTS", lease).integer() == 0, "it is given back")
    }

    @Test func `a retried dead letter and a late receipt correct an open hour and a closed one`() async throws {
        let fixture = try await SumsFixture()
        let deadline = fixture.now + 40 * Self.hour
        let young = try await fixture.push(2, targets: 10, delivered: 4, failed: 6)
        let old = try await fixture.push(26, targets: 10, delivered: 1, failed: 9, deadline: deadline)
        let open = try await fixture.push(27, "match-2", isOpen: true)
        try await fixture.work()
        #expect(try await fixture.days() == [1, 4])
        for push in [young, old] {
            try await fixture.set(push, "match-1", ["delivered", 10, "failed", 0, "r:shown", 7])
        }
        fixture.now += 2 * Self.hour
        try await fixture.work()
        #expect(try await fixture.days() == [10, 10])
        let sums = try await fixture.store.sums.read(fixture.app, by: .day, 20_770...20_790, .whole(nil)).total
        #expect(sums.sums.values.map(\.shown).reduce(0, +) == 14)
        // Nobody can retry it any more.
        #expect(
            try await fixture.store.redis.hash(fixture.store.keys.watchedPushes(fixture.app)).pairs.map(\.0)
                == [open.description])
        // The other one was not final when its hour was closed.
        _ = try await fixture.store.pushes.cancel(fixture.app, open)
        try await fixture.set(open, "match-2", ["targets", 5, "delivered", 5])
        try await fixture.work()
        #expect(try await fixture.days() == [15, 10])
        #expect(try await fixture.total("match-2") == [1, 5, 5])
    }

    @Test func `a test on one device does not count, a push to one device does`() async throws {
        let fixture = try await SumsFixture()
        let channel = ChannelID.random()
        for age in [0.5, 5, 30] {
            try await fixture.push(age, "a")
            try await fixture.push(age, "a", targets: 1, delivered: 1, audience: .channel(channel))
            try await fixture.push(age, "a", targets: 10, delivered: 3, trace: channel)
            // It is watched once its hour is closed, unless it is left out.
            try await fixture.push(age, "a", isOpen: age > 24, audience: .channel(channel), trace: channel)
        }
        try await fixture.work()
        #expect(try await fixture.total() == [9, 63, 36])
        #expect(try await fixture.store.redis.hash(fixture.store.keys.watchedPushes(fixture.app)).pairs.isEmpty)
    }

    @Test func `a schedule counts in the hour in which it goes out, and once`() async throws {
        let fixture = try await SumsFixture()
        try await fixture.push(1, id: .ordered(at: fixture.now - 60 * Self.hour, index: 0))
        try await fixture.push(30, "b", id: .ordered(at: fixture.now - 90 * Self.hour, index: 0))
        try await fixture.work()
        #expect(try await fixture.days() == [8, 8])
        #expect(try await fixture.total() == [2, 20, 16])
    }

    @Test func `the sums begin anew where no worker was there in time`() async throws {
        let fixture = try await SumsFixture()
        try await fixture.push(2)
        try await fixture.work()
        fixture.now += 12 * 24 * Self.hour
        try await fixture.push(1, "b")
        try await fixture.work()
        let progress = try await fixture.store.sums.progress(fixture.app)
        #expect(progress.since == fixture.hour - 7 * 24 + 1 && progress.next == fixture.hour - 23)
        let view = try await fixture.store.sums.read(
            fixture.app, by: .day, fixture.now / Sums.Period.day.length - 3...fixture.now / Sums.Period.day.length,
            .whole(nil))
        #expect(view.since == (fixture.hour - 7 * 24 + 1) * Self.hour && view.periods.count == 1)
    }

    @Test func `somebody who looks sees the pushes of this moment`() async throws {
        let fixture = try await SumsFixture()
        try await fixture.push(0)
        try await fixture.store.sums.freshen(fixture.app)
        #expect(try await fixture.total() == [1, 10, 8])
        try await fixture.push(0, "b")
        try await fixture.store.sums.freshen(fixture.app)
        #expect(try await fixture.total() == [1, 10, 8], "the draft is two seconds old at most")
        fixture.now += 3_000
        try await fixture.store.sums.freshen(fixture.app)
        #expect(try await fixture.total() == [2, 20, 16])
    }

    @Test func `each hour has the followers of its last look, and a day its most`() async throws {
        let fixture = try await SumsFixture()
        for number in 1...3 {
            let seen = fixture.store.keys.seen(fixture.app, .followers, fixture.now / (13 * Self.hour / 2))
            try await fixture.store.redis.run("PFADD", seen, (0..<100 * number).map { .string("f\($0)") })
            try await fixture.work()
            fixture.now += 40 * 60_000
        }
        let day = SumsFixture.start / Sums.Period.day.length
        let days = try await fixture.store.sums.read(fixture.app, by: .day, day - 1...day, .whole(nil)).followers
        #expect(days.count == 1 && (290...310).contains(days[day] ?? 0), "\(days)")
        let hours = try await fixture.store.sums.read(
            fixture.app, by: .hour, day * 24...day * 24 + 23, .whole(nil)
        ).followers
        #expect(
            hours.keys.sorted() == [day * 24 + 18, day * 24 + 19] && (95...105).contains(hours[day * 24 + 18] ?? 0))
    }

    @Test func `each hour has the followings that began and ended in it`() async throws {
        let fixture = try await SumsFixture()
        let (registry, app, name) = (fixture.store.registry, fixture.app, try ActivityName("a"))
        let channels = (0..<4).map { _ in ChannelID.random() }
        let token = try PushToken(hex: "0a0b")
        func track(_ channels: some Sequence<ChannelID>, _ place: TokenPlace? = nil) async throws {
            for parts in [Array(channels.prefix(1)), Array(channels.dropFirst())] {
                _ = try await registry.track(
                    app, place ?? .activity(name),
                    parts.map { Registration(channel: $0, token: token, registeredAt: fixture.now) })
            }
        }
        func found(_ period: Sums.Period) async throws -> [[Int]] {
            let newest = fixture.now / period.length
            let view = try await fixture.store.sums.read(app, by: period, newest - 1...newest, .whole(nil))
            return view.followings.sorted { $0.key < $1.key }.map { [$0.value.began, $0.value.ended] }
        }
        try await track(channels)
        // They follow already. Start tokens are no followings.
        try await track(channels)
        try await track(channels, .startTokens(of: "T"))
        try await eventually("the followings are written") { try await found(.hour) == [[4, 0]] }
        fixture.now += Self.hour
        for _ in 0..<2 {
            let untracks = channels.prefix(2).map { Untrack(channel: $0, removedAt: fixture.now) }
            try await registry.untrack(app, .activity(name), untracks)
        }
        let dead = TokenRemoval(channel: channels[2].stored, token: token.bytes, deadSince: nil)
        #expect(try await registry.prune(app, .activity(name), [dead]) == [.pruned])
        fixture.now += 1
        try await track(channels.prefix(1))
        try await eventually("the next hour's are too") { try await found(.hour) == [[4, 0], [1, 3]] }
        #expect(try await found(.day) == [[5, 3]])
    }

    @Test func `times to the first and the last phone are averages, and a wait has its longest too`() async throws {
        let fixture = try await SumsFixture()
        let (one, other) = try await (fixture.push(0.5), fixture.push(0.5))
        try await fixture.push(0.5, delivered: 0)
        let accepted = fixture.now - Self.hour / 2
        try await fixture.set(one, "match-1", ["first", .int(accepted + 500), "waited", 3_000])
        try await fixture.set(other, "match-1", ["waited", 5_000])
        try await fixture.work()
        let hour = fixture.hour
        let sums = try await fixture.store.sums.read(fixture.app, by: .hour, hour...hour, .whole(nil)).total.sums
        let counts = sums.values.reduce(into: SumCounts()) { $0 += $1 }
        #expect(counts.reached == 2 && counts.started == 500 + 1_500 && counts.lasted == 3_000)
        #expect(counts.waited == 8_000 && counts.longestWait == 5_000)
    }

    @Test func `counts on Android stand beside the sum, in drafts, closed hours and corrections`() async throws {
        let fixture = try await SumsFixture()
        let deadline = fixture.now + 48 * Self.hour
        let both = try await fixture.push(0.5, targets: 10, delivered: 9, failed: 1, deadline: deadline)
        try await fixture.set(both, "match-1", ["targets@1", 4, "delivered@1", 3, "failed@1", 1])
        try await fixture.push(0.5, "match-2", targets: 6, delivered: 6)
        func android() async throws -> Outcomes? {
            let view = try await fixture.store.sums.read(fixture.app, by: .day, 20_770...20_790, .whole(nil))
            let counts = view.total.sums.values.reduce(into: SumCounts()) { $0 += $1 }
            #expect(counts.outcomes.targets == 16)
            return counts.apart[.android]
        }
        try await fixture.work()
        #expect(try await android() == Outcomes(targets: 4, [.delivered: 3, .failed: 1]))
        fixture.now += 26 * Self.hour
        try await fixture.work()
        #expect(try await android() == Outcomes(targets: 4, [.delivered: 3, .failed: 1]))
        // A retry of the dead letter reaches the phone.
        try await fixture.set(both, "match-1", ["delivered", 10, "failed", 0, "delivered@1", 4, "failed@1", 0])
        try await fixture.work()
        #expect(try await android() == Outcomes(targets: 4, [.delivered: 4]))
    }

    @Test func `a table keeps the names with the most deliveries, and the sums of all`() {
        var table = SumTable()
        var counts = SumCounts()
        for number in 0..<50_000 {
            (counts.pushes, counts.outcomes[.delivered]) = (1, number)
            table.count(counts, SumKey(.update, try? ActivityName("name-\(number)")))
        }
        table.keepNames(SumTable.mostNames)
        #expect(table.sums.count == 1 + SumTable.mostNames)
        #expect(table.sums[SumKey(.update, nil)]?.pushes == 50_000)
        #expect(table.sums[SumKey(.update, try? ActivityName("name-49000"))]?.outcomes.delivered == 49_000)
        #expect(table.sums[SumKey(.update, try? ActivityName("name-48999"))] == nil)
    }

    @Test func `counts and keys are read as they were written, and of foreign bytes nothing`() throws {
        var counts = SumCounts()
        (counts.pushes, counts.outcomes.targets, counts.longest, counts.shown) = (3, 50, 1_500, 7)
        (counts.waited, counts.longestWait) = (9, 8)
        counts.outcomes[.expired] = 2
        #expect(counts.stored.hasSuffix(",9"), "no counts apart")
        counts.apart[.android] = Outcomes(targets: 20, [.delivered: 19, .pruned: 1])
        #expect(SumCounts(stored: counts.stored) == counts)
        #expect(SumCounts(stored: "1,x,99999999999999999999") == SumCounts(stored: "1"))
        for name in [nil, "match-1", "two words", "a  b"] {
            let key = SumKey(.end, try name.map { try ActivityName($0) })
            #expect(SumKey(stored: key.stored) == key)
        }
        for text in ["at", "took", "", "update", "update windows", "updat ios a", "update ios "] {
            #expect(SumKey(stored: text) == nil, "\(text)")
        }
        #expect(WatchedPush(id: "x", stored: "1 update ios 5 1 a") == nil)
    }
}
