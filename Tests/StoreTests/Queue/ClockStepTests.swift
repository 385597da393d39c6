import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store

/// Tests all scripts with a clock that is set forward and back: no wait is longer than its own length.
@Suite struct ClockStepTests {
    /// Where the clock is when a wait begins, and where afterwards: back by seconds, minutes, hours, also after a step
    /// forward, and forward.
    private static let steps: [(from: Duration, to: Duration)] = [
        (.zero, .seconds(-5)), (.zero, .seconds(-600)), (.zero, .seconds(-18_000)), (.seconds(60), .zero),
        (.seconds(3_660), .zero), (.zero, .seconds(120)),
    ]

    /// Scripts that compare no stored time with the present: they date what they write, or they count how long a key is
    /// kept from now on. `push-cancel` and the others of the second line have deadlines, which are dates and no waits.
    private static let datesOnly: Set<String> = [
        "action-add", "receipt-count", "task-renew", "task-settle", "removal-confirm", "dead-collect",
        "broadcast-intend",
        "push-cancel", "dead-retry", "late-put", "schedule-due", "broadcast-settle",
        // SecondTests has its wait.
        "push-second",
    ]
    /// Scripts that get the present from their caller, and compare no wait with it.
    private static let datedByCaller: Set<String> = [
        "queue-look", "queue-due", "alarm-clear", "schedule-settle", "broadcast-want", "broadcast-live",
        "broadcast-discard", "broadcast-gone", "following-tidy", "registry-split", "push-forget", "channel-mark",
        "index-pack",
    ]
    /// Scripts in which a stored time refuses something older: see the tests of registrations below.
    private static let refusing: Set<String> = [
        "registry-set", "registry-remove", "registry-prune", "registry-forget", "registry-forgotten",
        "channel-forget",
    ]

    @Test func `each script that knows the time is in a table of these tests`() {
        let timed = Lua.all.filter { script in
            let own = script.source.replacing(/--[^\n]*/, with: "")
            let words: Set = ["now", "latest", "before"]
            // Its own code or a fragment behind it calls the function.
            let calls = own.matches(of: /redis_now\(\)/).count - (own.contains("local function redis_now()") ? 1 : 0)
            return calls > 0 || own.contains("PTTL', lease") || !words.isDisjoint(with: script.arguments)
        }
        let known = Set(ClockCase.all.flatMap(\.scripts)).union(Self.datesOnly).union(Self.datedByCaller)
            .union(Self.refusing).union(Self.ofFeatures.joined())
        #expect(
            Set(timed.map(\.name)).subtracting(known).isEmpty, "tell here what they do with a clock that is set back")
        #expect(known.subtracting(Lua.all.map(\.name)).isEmpty)
    }

    @Test(arguments: ClockCase.all)
    func `a wait is never longer than its own length`(_ wait: ClockCase) async throws {
        var fixture = try await ClockFixture.start()
        for step in Self.steps {
            fixture = try await fixture.emptied()
            try await fixture.set(ahead: step.from)
            let left = try await wait.begin(fixture)
            let lag = try await fixture.set(ahead: step.to)
            let first = try await left()
            #expect(first <= wait.longest + lag, "\(wait) from \(step.from) to \(step.to)")
            // The wait is over after its length from now on, however often somebody asks.
            try await fixture.set(ahead: step.to + wait.longest + lag + .milliseconds(5))
            if first > .zero { #expect(try await left() == .zero, "\(wait) from \(step.from) to \(step.to)") }
        }
    }

    /// A time that was stored while the clock was ahead refuses nothing that comes after it was set right.
    @Test func `registrations and removals count after the clock was set back`() async throws {
        let fixture = try await ClockFixture.start()
        let channel = ChannelID.random()
        try await fixture.set(ahead: .seconds(3_660))
        #expect(try await fixture.track("aa01", channel) == .stored)
        try await fixture.set(ahead: .zero)
        #expect(try await fixture.track("aa02", channel) == .stored, "a rotation")
        #expect(try await fixture.tokens() == ["aa02"])

        try await fixture.set(ahead: .seconds(7_200))
        #expect(try await fixture.track("aa03", channel) == .stored)
        try await fixture.set(ahead: .zero)
        let now = fixture.store.time.now()
        try await fixture.store.registry.untrack(
            fixture.app, .activity(fixture.name), [Untrack(channel: channel, removedAt: now)])
        #expect(try await fixture.tokens() == [], "the removal counts")

        try await fixture.set(ahead: .seconds(10_800))
        #expect(try await fixture.track("aa04", channel) == .stored)
        try await fixture.store.registry.untrack(
            fixture.app, .activity(fixture.name), [Untrack(channel: channel, removedAt: fixture.store.time.now())])
        try await fixture.set(ahead: .zero)
        #expect(try await fixture.track("aa05", channel) == .stored, "its tombstone refuses nothing")
        #expect(try await fixture.tokens() == ["aa05"])
    }

    /// Calls that were sent five seconds ago, as by a process that was stopped meanwhile. Others have stored later
    /// times, which do not lie ahead.
    @Test func `a call that was long on its way meets what others registered meanwhile`() async throws {
        let fixture = try await ClockFixture.start()
        let late = Store(redis: fixture.store.redis, clock: { [time = fixture.store.time] in time.now() - 5_000 })
        let (app, place) = (fixture.app, TokenPlace.activity(fixture.name))
        let (rotated, removed) = (ChannelID.random(), ChannelID.random())
        let (forgotten, dead) = (ChannelID.random(), ChannelID.random())
        let now = fixture.store.time.now()
        for (token, channel) in [("aa02", rotated), ("bb02", removed), ("cc02", forgotten), ("dd02", dead)] {
            #expect(try await fixture.track(token, channel, at: now) == .stored)
        }
        var tags = TagChange()
        tags.add["device"] = ["vip"]
        try await fixture.store.channels.tag(app, [forgotten], tags)

        let before = Registration(channel: rotated, token: try PushToken(hex: "aa01"), registeredAt: now - 6_000)
        #expect(try await late.registry.track(app, place, [before]) == [.stale], "the token before")
        try await late.registry.untrack(app, place, [Untrack(channel: removed, removedAt: now - 6_000)])
        let removal = TokenRemoval(channel: dead.stored, token: [0xdd, 0x02], deadSince: now - 6_000)
        #expect(try await late.registry.prune(app, place, [removal]) == [.newer])
        try await late.forgetting.forget(app, [forgotten], notedAt: now - 6_000)
        #expect(try await Set(fixture.tokens()) == ["aa02", "bb02", "cc02", "dd02"])
        let record = fixture.store.keys.channel(app, forgotten)
        #expect(try await fixture.store.redis.send(RedisCommand("EXISTS", record)).integer() == 1)
    }

    /// The clock comes near the stored time again, which then lies less ahead than two processes' clocks may differ.
    @Test(arguments: [Duration.seconds(1), .milliseconds(5_000), .milliseconds(5_500), .milliseconds(5_990)])
    func `the next token counts until the clock is where it was`(passed: Duration) async throws {
        let fixture = try await ClockFixture.start()
        let (rotated, removed) = (ChannelID.random(), ChannelID.random())
        try await fixture.set(ahead: .seconds(6))
        #expect(try await fixture.track("aa01", rotated) == .stored)
        #expect(try await fixture.track("bb01", removed) == .stored)
        try await fixture.set(ahead: .zero)
        try await fixture.set(ahead: passed)
        #expect(try await fixture.track("aa02", rotated) == .stored)
        try await fixture.store.registry.untrack(
            fixture.app, .activity(fixture.name), [Untrack(channel: removed, removedAt: fixture.store.time.now())])
        #expect(try await fixture.tokens() == ["aa02"])
    }

    /// Both have gone, and the clock is then set back. The repeat has the time of the registration that went.
    @Test func `a repeated registration stays removed or pruned after the clock was set back`() async throws {
        let fixture = try await ClockFixture.start()
        let (removed, dead) = (ChannelID.random(), ChannelID.random())
        let time = fixture.store.time.now()
        #expect(try await fixture.track("aa01", removed, at: time) == .stored)
        #expect(try await fixture.track("bb01", dead, at: time) == .stored)
        try await fixture.set(ahead: .seconds(24))
        let later = fixture.store.time.now()
        try await fixture.store.registry.untrack(
            fixture.app, .activity(fixture.name), [Untrack(channel: removed, removedAt: later)])
        let removal = TokenRemoval(channel: dead.stored, token: [0xbb, 0x01], deadSince: later)
        #expect(try await fixture.store.registry.prune(fixture.app, .activity(fixture.name), [removal]) == [.pruned])
        try await fixture.set(ahead: .seconds(2))
        #expect(try await fixture.track("aa01", removed, at: time) == .stale)
        #expect(try await fixture.track("bb01", dead, at: time) == .stale)
        #expect(try await fixture.tokens() == [])
        #expect(try await fixture.track("aa02", removed, at: time + 1) == .stored, "a later one is another")
    }

    @Test func `a dead token is pruned and a channel forgotten after the clock was set back`() async throws {
        let fixture = try await ClockFixture.start()
        let (dead, forgotten) = (ChannelID.random(), ChannelID.random())
        try await fixture.set(ahead: .seconds(3_660))
        #expect(try await fixture.track("aa01", dead) == .stored)
        #expect(try await fixture.track("bb01", forgotten) == .stored)
        var tags = TagChange()
        tags.add["device"] = ["vip"]
        try await fixture.store.channels.tag(fixture.app, [forgotten], tags)
        try await fixture.set(ahead: .zero)
        let removal = TokenRemoval(
            channel: dead.stored, token: [0xaa, 0x01], deadSince: fixture.store.time.now())
        #expect(try await fixture.store.registry.prune(fixture.app, .activity(fixture.name), [removal]) == [.pruned])
        #expect(try await fixture.track("aa02", dead) == .stored, "its tombstone refuses no other token")

        let noted = try await fixture.store.forgetting.note(fixture.app, [forgotten])
        try await fixture.store.forgetting.forget(fixture.app, [forgotten], notedAt: noted)
        #expect(try await fixture.tokens() == ["aa02"])
        let record = fixture.store.keys.channel(fixture.app, forgotten)
        #expect(try await fixture.store.redis.send(RedisCommand("EXISTS", record)).integer() == 0)
    }

    /// An `end` is for the cards before it, in the order in which Redis got them.
    @Test func `ends and new followers keep their order when the clock is set back in between`() async throws {
        let fixture = try await ClockFixture.start()
        let y = fixture.store.keys.newFollowers(fixture.tag)
        try await fixture.set(ahead: .seconds(3_660))
        let first = try await fixture.accept(event: .end)
        try await fixture.set(ahead: .zero)
        // The end closes the name until a card opens it.
        #expect(try await fixture.track("aa01", .random()) == .stored)
        let joined = try #require(try await fixture.score(y))
        let firstEnd = try #require(try await fixture.store.pushes.ledger(fixture.app, first))
        #expect(joined >= firstEnd.createdAt, "the end is not for a card that began after it")
        let second = try await fixture.accept(event: .end)
        let secondEnd = try #require(try await fixture.store.pushes.ledger(fixture.app, second))
        #expect(joined < secondEnd.createdAt, "the next one is")
    }

    @Test func `an end is later than each new follower, also than those of before the clock was set back`() async throws
    {
        let fixture = try await ClockFixture.start()
        let y = fixture.store.keys.newFollowers(fixture.tag)
        _ = try await fixture.accept(event: .end)
        try await fixture.set(ahead: .seconds(60))
        #expect(try await fixture.track("aa01", .random()) == .stored)
        let first = try #require(try await fixture.score(y))
        try await fixture.set(ahead: .zero)
        #expect(try await fixture.track("aa02", .random()) == .stored)
        let end = try await fixture.accept(event: .end)
        let ledger = try #require(try await fixture.store.pushes.ledger(fixture.app, end))
        #expect(ledger.createdAt > first)
        #expect(
            try await fixture.store.redis.send(
                RedisCommand("ZCOUNT", y, ["\(ledger.createdAt)", "+inf"])
            ).integer() == 0)
    }

    @Test func `entries that a dead worker read are claimed after the clock was set back`() async throws {
        let fixture = try await ClockFixture.start()
        let (app, queue) = (fixture.app, fixture.store.queue)
        try await queue.prepare([app])
        try await fixture.set(ahead: .seconds(600))
        try await queue.add([.retries(app, fixture.name, .high)])
        for reader in fixture.store.readers() {
            _ = try await reader.read(.namesHigh, [app], consumer: "dead", count: 1, block: .milliseconds(1))
            reader.close()
        }
        try await fixture.set(ahead: .zero)
        try await queue.restartIdleTimes([app])
        try await fixture.set(ahead: .seconds(11))
        let claimed = try await queue.claim(.namesHigh, app, consumer: "w1", idle: .seconds(10), count: 10)
        #expect(claimed.entries.count == 1)
    }

    @Test func `one look finds a step and all learn its number`() async throws {
        let fixture = try await ClockFixture.start()
        let other = Store(redis: fixture.store.redis)
        try await other.time.look()
        #expect(fixture.store.time.step == nil && other.time.step == nil)
        let lag = try await fixture.set(ahead: .seconds(-90))
        try await other.time.look()
        let step = try #require(fixture.store.time.step)
        #expect(step.number == 1 && other.time.step == step)
        #expect((90_000 - lag.milliseconds...93_100).contains(step.by), "\(step)")
        let ahead = try #require(fixture.store.time.machineAhead)
        #expect((89_000...91_000).contains(ahead))
        // A second step soon after adds up, because the timers may not have been brought forward yet.
        let second = try await fixture.set(ahead: .seconds(-190))
        let sum = try #require(fixture.store.time.step)
        #expect(sum.number == 2)
        #expect((190_000 - (lag + second).milliseconds...196_200).contains(sum.by), "\(sum)")
        try await fixture.set(ahead: .seconds(3 * 3_600))
        #expect(fixture.store.time.step == nil, "after two hours no timer is from before")
    }

    @Test func `a process that hears an earlier time finds the step though nobody noted the later one`() async throws {
        let fixture = try await ClockFixture.start()
        let (store, clock) = (fixture.store, fixture.store.keys.clock)
        let other = Store(redis: store.redis)
        for time in [store.time, other.time] { for _ in 0..<2 { try await time.watch() } }
        // The last look was long ago.
        try await store.redis.send(
            RedisCommand("HSET", clock, ["seen", .int(try await fixture.now() - 60_000)]))
        fixture.clock.set(ahead: .seconds(-30))
        try await store.time.watch()
        let step = try #require(store.time.step)
        #expect(step.number == 1 && step.by > 20_000)
        try await other.time.watch()
        #expect(other.time.step == step, "it is no other step")
        // The times that they heard before are of another clock now.
        for time in [store.time, other.time] { for _ in 0..<2 { try await time.look() } }
        #expect(store.time.step == step && other.time.step == step)
    }

    @Test func `a gateway that hears an earlier time learns what a worker finds later`() async throws {
        let fixture = try await ClockFixture.start()
        let gateway = Store(redis: fixture.store.redis)
        for _ in 0..<2 { try await gateway.time.watch(notes: false) }
        fixture.clock.set(ahead: .seconds(-30))
        try await gateway.time.watch(notes: false)
        #expect(gateway.time.step == nil, "a gateway writes nothing")
        try await fixture.store.time.watch()
        try await gateway.time.watch(notes: false)
        #expect(gateway.time.step?.number == 1)
    }

    @Test func `the waits of a name's retries are brought forward once`() async throws {
        let fixture = try await ClockFixture.start()
        _ = try await fixture.accept(alert: true)
        _ = try await fixture.sweep(retry: [[1, 2], [1, 3]], after: .seconds(60))
        let lag = try await fixture.set(ahead: .seconds(-600))
        let claim = try await fixture.store.sweeps.claimRetries(
            fixture.app, fixture.name, owner: "w1", lease: ClockFixture.lease)
        guard case .claimed(let lease, _, _) = claim, let step = fixture.store.time.step else {
            throw Unexpected(what: "\(claim)")
        }
        let r = fixture.store.keys.waitingChannels(fixture.tag)
        var dues: [Int64] = []
        for _ in 0..<3 {
            try await fixture.store.sweeps.hasten(lease, step, now: fixture.store.time.now())
            let due = try #require(try await fixture.score(r))
            let left = due - (try await fixture.now())
            #expect(left <= 60_000 + lag.milliseconds, "\(left)")
            dues.append(due)
        }
        #expect(Set(dues).count == 1, "once for each step")
    }

    /// The second pause is as long as a rest, which the longest `Retry-After` allows.
    @Test(arguments: [Duration.seconds(60), .seconds(1_200)])
    func `a rate does not rise during a pause that the platform wants`(pause: Duration) async throws {
        let fixture = try await ClockFixture.start()
        let (account, turns) = (PlatformAccount("shop-1", .android), fixture.store.deliveryRates)
        let pace = PlatformPace(perSecond: 10_000, rise: .seconds(60), rest: .seconds(600))
        #expect(try await turns.take(account, tokens: 5_000, pace, horizon: .zero).tokens == 250)
        // Each worker with a turn is told.
        for _ in 0..<2 { try await turns.hold(account, pace, for: pause) }
        #expect(try await turns.take(account, tokens: 5_000, pace, horizon: .zero).isHeld)
        try await fixture.set(ahead: pause + .seconds(1))
        let first = try await turns.take(account, tokens: 5_000, pace, horizon: .zero)
        #expect(first.tokens == 250, "a thousand at the whole rate")
        let next = try await turns.take(account, tokens: 5_000, pace, horizon: .zero)
        #expect(!next.isTaken && next.wait > .milliseconds(100), "\(next)")
    }
}
