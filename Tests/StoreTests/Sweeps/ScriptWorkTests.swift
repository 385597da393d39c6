import LiveActivity
import Redis
import Synchronization
import TestSupport
import Testing

@testable import Store
@testable import StoreDeliveries
@testable import StoreGround
@testable import StoreRegistry

/// Bounds the largest call of each script by its commands, whose number does not depend on the machine. Redis serves no
/// other client while a script runs.
@Suite struct ScriptWorkTests {
    private let name = try! ActivityName("match-1")

    /// Scripts that do the same work in each call, or whose work is bounded by 64 or fewer entries.
    private static let small: Set<String> = [
        "registry-set", "registry-remove", "registry-alive", "registry-followed", "registry-forget", "registry-knows",
        "channel-forget",
        "push-begin", "push-cancel", "push-return", "push-second", "receipt-count", "app-lease", "alarm-clear",
        "task-claim", "task-planned", "task-renew", "retry-claim", "queue-due", "queue-forget", "alarm-raise",
        "broadcast-want", "broadcast-live", "broadcast-discard", "broadcast-retire", "broadcast-gone", "broadcast-fail",
        "broadcast-lease", "broadcast-intend", "broadcast-settle", "schedule-create", "schedule-due",
        "schedule-claim", "schedule-replace", "schedule-settle", "provider-token", "schema-set",
        "credential-set", "rate-take", "delivery-turn", "push-forget",
        "clock-look", "registry-forgotten", "rights-try", "following-drop", "channel-cleared",
    ]
    /// Scripts that read a list as long as their caller says, one or two commands an entry: at most 1,000 entries.
    private static let lists: Set<String> = [
        "push-chain", "quarantine-forget", "guard-count", "queue-look", "end-claim", "schedule-queue",
        "broadcast-foreign", "event-add", "action-add", "timer-hasten",
        "index-drop",
    ]
    /// Scripts whose largest call runs below.
    private static let measured: Set<String> = [
        "task-settle", "retry-settle", "push-accept", "broadcast-take", "dead-retry", "dead-collect", "channel-mark",
        "channel-confirm", "late-put", "removal-confirm", "registry-prune", "registry-split", "following-tidy",
        "index-pack",
        // In JoinTests and ImportTests.
        "registry-join", "registry-size",
    ]

    @Test func `each script is bounded in one of these ways`() {
        let core = Self.small.union(Self.lists).union(Self.measured)
        #expect(core.union(Self.boundedOfFeatures.joined()) == Set(Lua.all.map(\.name)))
    }

    /// Runs `body`, which runs `scripts` scripts, and demands at most `most` commands of each on average.
    private func expect(
        _ what: String, scripts: ClosedRange<Int> = 1...1, most: Int, _ redis: RedisClient,
        _ body: () async throws -> Void
    ) async throws {
        _ = try await redis.everywhere("CONFIG", "RESETSTAT")
        try await body()
        var calls = try await redis.callsOfTheStore()
        let ran = calls.removeValue(forKey: "evalsha") ?? 0
        let sum = calls.values.reduce(0, +)
        #expect(scripts.contains(ran) && sum <= most * ran, "\(what): \(sum) commands in \(ran) scripts: \(calls)")
    }

    private func channels(_ count: Int) -> [[UInt8]] { (0..<count).map { [1, UInt8($0 >> 8), UInt8($0 & 255)] } }

    @Test func `a part of the channels' index with a thousand expired entries`() async throws {
        let fixture = try await PushFixture.start()
        let bucket = fixture.store.keys.followings(fixture.app, 0)
        let tidy = RedisCommand(
            Lua.followingTidy, keys: ["fo": bucket], ["now": .bytes(FollowingIndex.minutes(1_795_000_000_000))])
        let expired = RedisArgument.bytes(FollowingIndex.minutes(0))
        try await fixture.store.redis.send(
            RedisCommand("HSET", bucket, channels(1_000).flatMap { [.bytes($0), expired] }))
        try await expect("expired entries", most: 3, fixture.store.redis) {
            let dropped = try await fixture.store.redis.send(tidy).integer()
            #expect(dropped == 1_000)
        }
    }

    @Test func `an hour of the index of pushes with thousands of entries is packed by parts`() async throws {
        let fixture = try await PushFixture.start()
        let (index, redis, now) = (fixture.store.pushes.index, fixture.store.redis, fixture.store.time.now())
        let place = index.place(fixture.app, .ordered(at: now, index: 0))
        var entries: [RedisCommand] = []
        while entries.count < 3_000 {
            let id = PushID.ordered(at: now, index: entries.count)
            if index.place(fixture.app, id) == place { entries += index.note(fixture.app, id, name, now: now) }
        }
        try await redis.run(entries)
        try await expect("entries", most: 30, redis) {
            let packed = try await redis.run(index.pack(place, before: nil)).integer()
            #expect(packed == 1_024)
        }
    }

    @Test func `a page of a thousand retries is settled, and a page of full queues`() async throws {
        let fixture = try await PushFixture.start()
        let (redis, channels) = (fixture.store.redis, channels(1_000))
        for number in 0..<65 {
            let claim = try await fixture.claimed("match-1", try await fixture.accepted("match-1", alert: true))
            switch number {
            case 0:
                try await expect("retries", most: 100, redis) {
                    try await fixture.retry(claim, channels, due: 5_000)
                }
            case 64:
                // As many as a page may have.
                try await expect("full queues", most: 60, redis) {
                    try await fixture.joinQueues(claim, Array(channels.prefix(Settlement.mostJoins)))
                }
            default: try await fixture.joinQueues(claim, channels)
            }
        }
        let lease = try await fixture.claimRetries("match-1")
        let due = try await fixture.store.sweeps.dueChannels(
            lease, fixture.store.tokens, now: .max / 2, limit: 1_000)
        #expect(due.count == 1_000)
        try await expect("given up", scripts: 8...8, most: 450, redis) {
            try await fixture.settle(lease) { settlement in
                for channel in due { settlement.finish(channel, as: .failed, reason: "Busy", isGivenUp: true) }
            }
        }
    }

    @Test func `a thousand removals are confirmed`() async throws {
        let fixture = try await PushFixture.start()
        try await fixture.track("match-1", count: 1_000)
        let (page, _, _) = try await fixture.store.tokens.markedPage(
            fixture.app, .activity(name), from: .start, to: .end, limit: 2_000)
        let claim = try await fixture.claimed("match-1", try await fixture.accepted("match-1", event: .end))
        var settlement = Settlement(range: claim.lease.bounds)
        settlement.targets = page.count
        for index in 0..<page.count {
            settlement.remove(
                TokenRemoval(
                    channel: Array(page.channel(index)), token: Array(page.token(index)), endedAt: 1_795_000_001_000))
        }
        let settled = settlement
        let redis = fixture.store.redis
        try await expect("removals", most: 100, redis) { _ = try await fixture.settle(claim, settled) }
        let pending = try await fixture.pendingRemovals("match-1")
        #expect(pending.count == page.count && page.count == 1_000)
        try await expect("pruned", scripts: 8...64, most: 400, redis) {
            _ = try await fixture.store.registry.prune(fixture.app, .activity(name), pending.map(\.removal))
        }
        try await expect("confirmed", scripts: 8...8, most: 1_050, redis) {
            _ = try await fixture.store.sweeps.confirm(fixture.app, name, pending.map { (pending: $0, as: .delivered) })
        }
    }

    @Test func `a name's thousand waiting pushes are looked at once`() async throws {
        let fixture = try await PushFixture.start()
        for _ in 0..<990 { _ = try await fixture.accepted("match-1", alert: true) }
        try await expect("accepted", most: 1_050, fixture.store.redis) {
            _ = try await fixture.accepted("match-1")
        }
    }

    @Test func `a long broadcast queue is looked at in parts`() async throws {
        let fixture = try await PushFixture.start()
        _ = try await fixture.store.broadcasts.want(fixture.app, name, .none, now: 1)
        for _ in 0..<2 * Broadcasts.look + 50 {
            let id = try await fixture.push(alert: true, expiry: 1_794_000_000)
            _ = try await fixture.deliver(try await fixture.claimed("match-1", id), targets: 0)
        }
        var listed: [PushID] = []
        for isListed in [false, true] {
            try await expect("expired", most: 1_500, fixture.store.redis) {
                let take = try await fixture.store.broadcasts.take(
                    fixture.app, name, owner: "w1", lease: fixture.lease, listed: listed)
                if case .expires(let pushes) = take.turn { listed = pushes }
                #expect(listed.count == Broadcasts.look)
                #expect(take.counted[.expired] ?? 0 == (isListed ? Broadcasts.look : 0))
            }
        }
    }

    @Test func `many late joiners are queued in parts`() async throws {
        let fixture = try await PushFixture.start()
        let id = try await fixture.accepted("match-1", alert: true)
        _ = try await fixture.deliver(try await fixture.claimed("match-1", id), targets: 0)
        let registrations = try (0..<1_500).map { number in
            Registration(
                channel: .random(),
                token: try #require(PushToken(bytes: [1, UInt8(number >> 8), UInt8(number & 255)])),
                registeredAt: 1_795_000_000_000, wantsState: true)
        }
        _ = try await fixture.store.registry.track(fixture.app, .activity(name), registrations)
        let late = fixture.store.lateJoiners
        let states = try await late.states(fixture.app, name)
        let parts = Mutex<[[LateJoiner]]>([])
        try await late.each(fixture.app, name) { part throws(StoreError) in parts.withLock { $0.append(part) } }
        let found = parts.withLock(\.self)
        #expect(found.reduce(0) { $0 + $1.count } == 1_500 && found.count > 1)
        for part in found where !part.isEmpty {
            try await expect("late joiners", scripts: 1...5, most: 1_800, fixture.store.redis) {
                _ = try await late.settle(
                    fixture.app, name, states, part.map { ($0, LateDecision.put(id)) })
            }
        }
    }

    @Test func `a bucket that grows is split in one small step`() async throws {
        let fixture = try await PushFixture.start()
        try await fixture.track("match-1", count: 80)
        // Each of these may split a bucket, and none does more than another.
        for _ in 0..<4 {
            try await expect("registrations", scripts: 40...200, most: 60, fixture.store.redis) {
                for _ in 0..<40 { try await fixture.track("match-1", count: 1) }
            }
        }
    }

    @Test func `a thousand tags are changed in parts`() async throws {
        try await RegistryFixture.run { fixture in
            let channel = ChannelID.random()
            for word in ["old", "new"] {
                var change = TagChange()
                for group in 0..<100 {
                    change.set[ExactText("g\(group)")] = Set((0..<10).map { ExactText("\(word)\($0)") })
                }
                // The limit, then each half is marked and confirmed.
                try await expect("tags", scripts: 5...5, most: 1_500, fixture.redis) {
                    try await fixture.channels.tag(fixture.app, [channel], change)
                }
            }
        }
    }

    @Test func `operations are divided by their tags, and a long list by additions`() {
        func tags(_ range: Range<Int>) -> [AudienceSet] { range.map { .tag("\($0)", group: "g") } }
        let all = tags(0..<1_200)
        let change: [ChannelOperation] = [.remove(all[0]), .set(prefix: "t:g:", all), .add(all[1]), .remove(all[2])]
        let parts = ChannelOperation.parts(change, most: 500)
        let additions = all.map { ChannelOperation.add($0) }
        let first = [ChannelOperation.remove(all[0])] + additions[..<499]
        let last: [ChannelOperation] = [.add(all[1]), .remove(all[2])]
        #expect(parts == [first, Array(additions[499..<700]), [.set(prefix: "t:g:", all)], last])
        #expect(ChannelOperation.parts([.set(prefix: "u:", [])], most: 500) == [[.set(prefix: "u:", [])]])
    }

    @Test func `a stop is in one script with the last operation of its push`() throws {
        let (stopped, other) = (PushID.random(), PushID.random())
        var settlement = RetrySettlement()
        for number in 0..<300 {
            let push = number.isMultiple(of: 2) ? stopped : other
            let waiting = try #require(
                WaitingChannel(
                    channel: [UInt8(number >> 8), UInt8(number & 255)], queue: ([0, 0, 0] + push.uuid.bytes)[...]))
            settlement.finish(waiting, as: .failed)
        }
        #expect(settlement.parts.map(\.count) == [875, 875, 350], "seven for each channel")
        settlement.stop(stopped, reason: "BadTopic")
        let parts = settlement.parts.map { $0.map { "\($0)" } }
        #expect(parts.map(\.count) == [875, 175, 875, 180], "the stop has five")
        func word(_ argument: RedisArgument) -> String { "\(argument)" }
        let (own, others) = (word(.bytes(stopped.uuid.bytes)), word(.bytes(other.uuid.bytes)))
        #expect(parts.map { $0.contains(own) } == [false, false, true, true])
        #expect(parts.map { $0.contains(others) } == [true, true, false, false])
        #expect(parts[3].prefix(2) == [word("keep"), own])
        #expect(parts[3].suffix(3) == [word("stop"), own, word("BadTopic")])
        // Nothing is settled, but the lease is renewed.
        #expect(RetrySettlement().parts.map(\.count) == [0])
    }
}
