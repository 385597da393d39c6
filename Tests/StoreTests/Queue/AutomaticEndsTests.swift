import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store
@testable import StoreDeliveries
@testable import StoreGround
@testable import StoreRegistry

/// Tests which cards are ended automatically, and that one push does it whichever worker dies.
@Suite struct AutomaticEndsTests {
    @Test func `a card is ended at its time or a little earlier with others`() {
        let long = EndRule(after: .seconds(28_800))
        #expect(long.slack == 300_000 && long.age == 28_500_000)
        let short = EndRule(after: .seconds(60))
        #expect(short.slack == 6_000 && short.age == 54_000)
        var count = CardCount(cutoff: 1_000)
        for start: Int64 in [1_001, 1_000, 999, 2_000, 1_001, .min] { count.add(startedAt: start) }
        #expect(count.due == 3 && count.nextStart == 1_001)
        #expect(CardCount(cutoff: 0).nextStart == nil)
        // The end is not tried after Apple itself has ended any of the cards.
        #expect(EndRule.expiry(cutoff: 1_795_000_000_999) == 1_795_000_000 + 28_800)
    }

    @Test func `a name and a cutoff are one push`() throws {
        let app = try AppKey("shop")
        let task = EndTask(app: app, name: try ActivityName("a 1 {x}"), cutoff: 1_795_000_000_000)
        #expect(EndTask(app: app, member: task.member) == task)
        for member in ["", "x", "1795000000000", "1795000000000 ", "z name"] {
            #expect(EndTask(app: app, member: member) == nil, "\(member)")
        }
        let others = [
            EndTask(app: try AppKey("shop2"), name: task.name, cutoff: task.cutoff),
            EndTask(app: app, name: try ActivityName("a 1 {y}"), cutoff: task.cutoff),
            EndTask(app: app, name: task.name, cutoff: task.cutoff + 1),
        ]
        #expect(Set((others + [task, task]).map(AutomaticEnds.push)).count == 4)
        #expect(AutomaticEnds.push(task).description.split(separator: "-")[2].first == "7")
        #expect(task.publish.event == .end && task.publish.priority == .low && !task.publish.isSupersedable)
    }

    @Test func `each due name is taken by one worker`() async throws {
        let fixture = try await EndFixture.start()
        for number in 0..<20 { try await fixture.card(1, minutes: 64, name: "match-\(number)") }
        try await fixture.card(1, minutes: 10, name: "young")
        let ends = fixture.store.automaticEnds
        let tasks = try await withThrowingTaskGroup(of: [EndTask].self) { group in
            for _ in 0..<8 { group.addTask { try await ends.take(fixture.app, fixture.rule, limit: 100) } }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(tasks.count == 20 && Set(tasks.map(\.name)).count == 20)
        #expect(try await fixture.timer().keys.sorted() == ["young"])
        #expect(try await fixture.inHand().count == 20)
        for task in tasks { #expect(try await fixture.run(task).verdict == .ended) }
        #expect(try await fixture.inHand().isEmpty)
        #expect(try await fixture.timer().keys.sorted() == ["young"])
    }

    @Test func `another worker continues for one that died with a claimed name, with the same push`() async throws {
        let fixture = try await EndFixture.start()
        try await fixture.card(1, minutes: 64)
        try await fixture.card(2, minutes: 20)
        let dead = try #require(try await fixture.take().first)
        #expect(try await fixture.take().isEmpty, "it is in hand")
        // The worker died before it read the cards.
        try await fixture.lapse()
        let second = try await fixture.take()
        #expect(second == [dead], "with the same cutoff, so that it is the same push")
        let outcome = try await fixture.run(dead)
        #expect(outcome.verdict == .ended && outcome.cards == 1)
        let before = try await fixture.timer()
        // The worker died after the commit, so the whole task is run again.
        _ = try await fixture.redis.send(
            RedisCommand("ZADD", fixture.inHandKey, "1", .string(dead.member)))
        let third = try await fixture.take()
        let repeated = try await fixture.run(try #require(third.first))
        #expect(repeated == outcome)
        #expect(try await fixture.timer() == before)
        #expect(before["match-1"] == fixture.start - 20 * 60_000 + 3_600_000, "the other card's time")
        let ledger = try #require(try await fixture.store.pushes.ledger(fixture.app, outcome.push))
        #expect(ledger.isAutomatic && ledger.event == .end && ledger.priority == .low && ledger.state == .queued)
        #expect(try await fixture.meta("seq") == "1", "committed once")
    }

    @Test func `a card that registers while its name is claimed is not forgotten`() async throws {
        let fixture = try await EndFixture.start()
        try await fixture.card(1, minutes: 64)
        let task = try #require(try await fixture.take().first)
        // A run that reads the registry may already have passed the positions of these cards.
        try await fixture.card(2, minutes: 62)
        try await fixture.card(3, minutes: 30)
        #expect(try await fixture.timer() == ["match-1": fixture.start - 62 * 60_000 + 3_600_000])
        #expect(try await fixture.run(task).verdict == .ended)
        let next = try await fixture.take()
        #expect(next.count == 1 && next[0].cutoff > task.cutoff)
        // A caller that got no answer repeats the registration. It is noted whether the card is new or not.
        _ = try await fixture.redis.send(RedisCommand("DEL", fixture.timerKey))
        try await fixture.card(3, minutes: 30)
        #expect(try await fixture.timer() == ["match-1": fixture.start - 30 * 60_000 + 3_600_000])
    }

    @Test func `a card of a platform that ends no card is not ended`() async throws {
        let fixture = try await EndFixture.start()
        // A record of such a platform begins long after its report, so the timer would hold this name.
        let registration = Registration(
            channel: try fixture.channel(1), token: .ofChannel(on: .android),
            registeredAt: fixture.start - RegistryRecord.longLife + 60_000)
        let results = try await fixture.store.registry.track(
            fixture.app, .activity(fixture.name), [registration], endAfter: fixture.rule.after)
        #expect(results == [.stored])
        #expect(try await fixture.timer().isEmpty)
        // A worker that begins with the setting looks at every name.
        let task = EndTask(app: fixture.app, name: fixture.name, cutoff: fixture.start)
        #expect(try await fixture.run(task).verdict == .nothing)
        #expect(try await fixture.store.names.info(fixture.app, fixture.name)?.lastPushID == nil)
        try await fixture.card(2, minutes: 64)
        #expect(try await fixture.run(try #require(try await fixture.take().first)).cards == 1)
        #expect(try await fixture.timer().isEmpty, "the name has no other card to end")
    }

    @Test func `a name without cards leaves the timer and comes back with one`() async throws {
        let fixture = try await EndFixture.start()
        try await fixture.card(1, minutes: 64)
        try await fixture.store.registry.untrack(
            fixture.app, .activity(fixture.name), [Untrack(channel: fixture.channel(1), removedAt: fixture.start)])
        let task = try #require(try await fixture.take().first)
        #expect(try await fixture.run(task).verdict == .nothing)
        #expect(try await fixture.timer().isEmpty)
        #expect(try await fixture.inHand().isEmpty)
        #expect(try await fixture.store.pushes.ledger(fixture.app, AutomaticEnds.push(task)) == nil)
        try await fixture.card(2, minutes: 5)
        #expect(try await fixture.timer().count == 1)
        // Without the setting nothing is noted. A start token is not a card.
        try await fixture.card(3, minutes: 5, name: "other", noted: false)
        _ = try await fixture.store.registry.track(
            fixture.app, .startTokens(of: "Delivery"), [fixture.registration(4, minutes: 0)],
            endAfter: .seconds(3_600))
        #expect(try await fixture.timer().count == 1)
    }

    @Test func `it leaves the name as it was`() async throws {
        let fixture = try await EndFixture.start()
        try await fixture.card(1, minutes: 64)
        try await fixture.card(2, minutes: 2)
        let now = Int(fixture.start / 1_000)
        let first = try await fixture.update(timestamp: now - 100)
        let outcome = try await fixture.run(try #require(try await fixture.take().first))
        #expect(try await fixture.meta("ended") == nil)
        #expect(try await fixture.meta("over") == nil)
        #expect(try await fixture.meta("ending") == nil)
        // A publisher's timestamp is compared only with timestamps of publishers.
        let second = try await fixture.update(timestamp: now - 50)
        let third = try await fixture.update(timestamp: now - 40)
        let states = try await [first, outcome.push, second, third].asyncMap { id in
            try await fixture.store.pushes.ledger(fixture.app, id)?.state
        }
        #expect(states == [.queued, .queued, .superseded, .queued], "the end shows what stands before it")
        let info = try #require(try await fixture.store.names.info(fixture.app, fixture.name))
        #expect(!info.ended && info.automaticEndAt == fixture.start - 120_000 + 3_600_000)
    }

    @Test func `a name without room is looked at again`() async throws {
        let fixture = try await EndFixture.start()
        try await fixture.card(1, minutes: 64)
        let queue = fixture.store.keys.unswept(fixture.tag)
        let waiting = (1...Pushes.mostUnswept).flatMap { [.int($0), .string("\($0)")] as [RedisArgument] }
        _ = try await fixture.redis.send(RedisCommand("ZADD", queue, waiting))
        let task = try #require(try await fixture.take().first)
        #expect(try await fixture.run(task).verdict == .postponed(.queueFull(.name, retryAfter: 5)))
        #expect(try await fixture.inHand().count == 1)
        _ = try await fixture.redis.send(RedisCommand("DEL", queue))
        try await fixture.lapse()
        #expect(try await fixture.take() == [task])
        #expect(try await fixture.run(task).verdict == .ended)
    }

    @Test func `the state of an automatic end is fixed when it begins`() async throws {
        let fixture = try await EndFixture.start()
        try await fixture.card(1, minutes: 64)
        // A state that was cancelled before anybody had it is not shown, and the state before it is.
        let first = try await fixture.swept(try await fixture.update())
        let cancelled = try await fixture.update()
        _ = try await fixture.claimed()
        _ = try await fixture.store.pushes.cancel(fixture.app, cancelled)
        try await fixture.deliver(try await fixture.claimed())
        #expect(try await fixture.shown() == first.record.payload)
        let all = try await fixture.swept(try await fixture.update())
        let kept = try await fixture.states()
        let record = try await fixture.automatic()
        #expect(record.record.shown == all.record.payload)
        #expect(try await fixture.states() == kept, "it is nobody's newest state")
        // Another update is published meanwhile, but every worker that claims the part later shows the same state.
        _ = try await fixture.update()
        #expect(try await fixture.claimed().record.shown == all.record.payload)
        try await fixture.deliver(try await fixture.claimed())
        _ = try await fixture.swept(fixture.newest())
        // Only some channels got another state.
        _ = try await fixture.swept(try await fixture.update(.channel(fixture.channel(1))))
        #expect(try await fixture.shown() == nil)
        // Only some channels were ended. The others are shown the state that all had before.
        let again = try await fixture.swept(try await fixture.update())
        _ = try await fixture.swept(try await fixture.update(.channel(fixture.channel(7)), event: .end))
        #expect(try await fixture.shown() == again.record.payload)
        _ = try await fixture.swept(try await fixture.update(event: .start))
        #expect(try await fixture.shown() == nil, "a start brings a state too")
        _ = try await fixture.swept(try await fixture.update())
        _ = try await fixture.swept(try await fixture.update(event: .end))
        #expect(try await fixture.shown() == nil, "an end has been for all")
    }

    @Test func `it is not for a broadcast channel`() async throws {
        let fixture = try await EndFixture.start()
        try await fixture.card(1, minutes: 64)
        let channel = fixture.store.keys.broadcast(fixture.tag)
        _ = try await fixture.redis.send(RedisCommand("HSET", channel, "state", "live", "id", "AAAA"))
        #expect(try await !fixture.automatic().record.awaitsBroadcast)
        let line = RedisCommand("EXISTS", fixture.store.keys.broadcastQueue(fixture.tag))
        #expect(try await fixture.redis.send(line).integer() == 0)
    }

    @Test func `a worker that begins with it puts in the names that are there`() async throws {
        let fixture = try await EndFixture.start()
        for number in 0..<5 { try await fixture.card(1, minutes: 64, name: "match-\(number)", noted: false) }
        let ends = fixture.store.automaticEnds
        func adopt(_ seconds: Int?) async throws -> Int {
            try await ends.adopt(fixture.app, seconds.map { EndRule(after: .seconds($0)) })
        }
        #expect(try await adopt(nil) == 0)
        #expect(try await fixture.timer().isEmpty)
        #expect(try await adopt(3_600) == 5)
        let timer = try await fixture.timer()
        let now = fixture.store.time.now()
        #expect(timer.count == 5 && timer.values.allSatisfy { $0 <= now + 600_000 && $0 >= fixture.start })
        #expect(try await adopt(3_600) == 0)
        #expect(try await adopt(7_200) == 0)
        #expect(try await adopt(3_600) == 5, "sooner than before")
        #expect(try await adopt(nil) == 0)
        #expect(try await adopt(3_600) == 5, "nothing was noted meanwhile")
    }
}

/// A store on Redis's own clock, with cards that started a given number of minutes ago.
private struct EndFixture {
    let server: RedisServer
    let redis: RedisClient
    let store: Store
    let app = try! AppKey("shop")
    let name = try! ActivityName("match-1")
    let rule = EndRule(after: .seconds(3_600))
    /// Redis's time as it was measured, epoch milliseconds. It may be ahead by half of a round trip, so nothing is due
    /// at this very time. A record holds the age of a card in units of two minutes, so all ages are even.
    let start: Int64
    var tag: String { store.keys.tag(app, name) }
    var timerKey: RedisKey { store.keys.ends(app) }
    var inHandKey: RedisKey { store.keys.claimedEnds(app) }

    static func start() async throws -> EndFixture {
        let server = try await RedisServer.start()
        let redis = RedisClient(url: server.url, scripts: Store.scripts, logger: .quiet)
        let store = Store(redis: redis)
        try await store.time.measure()
        return EndFixture(server: server, redis: redis, store: store, start: store.time.now())
    }

    func channel(_ number: Int) throws -> ChannelID {
        try ChannelID("00000000-0000-4000-8000-00000000000\(number)")
    }

    func registration(_ number: Int, minutes: Int64) throws -> Registration {
        Registration(
            channel: try channel(number), token: try PushToken(hex: "0a0b0c0\(number)"), registeredAt: start,
            startedAt: start - minutes * 60_000)
    }

    func card(_ number: Int, minutes: Int64, name other: String? = nil, noted: Bool = true) async throws {
        let results = try await store.registry.track(
            app, .activity(try other.map { try ActivityName($0) } ?? name), [registration(number, minutes: minutes)],
            endAfter: noted ? rule.after : nil)
        #expect(results == [.stored])
    }

    func timer() async throws -> [String: Int64] { try await scores(timerKey) }
    func inHand() async throws -> [String: Int64] { try await scores(inHandKey) }

    private func scores(_ key: RedisKey) async throws -> [String: Int64] {
        let items = try await redis.send(RedisCommand("ZRANGE", key, "0", "-1", "WITHSCORES")).array()
        var scores: [String: Int64] = [:]
        for index in stride(from: 0, to: items.count, by: 2) {
            scores[try items[index].string()] = try Reply(items[index + 1]).optionalTime()
        }
        return scores
    }

    /// Makes all claims expire.
    func lapse() async throws {
        for member in try await inHand().keys {
            _ = try await redis.send(RedisCommand("ZADD", inHandKey, "1", .string(member)))
        }
    }

    func take() async throws -> [EndTask] { try await store.automaticEnds.take(app, rule, limit: 10) }

    func run(_ task: EndTask) async throws -> EndOutcome {
        try await store.automaticEnds.run(
            task, rule, payload: Array(#"{"aps":{"timestamp":0000000000,"event":"end"}}"#.utf8), timestampOffset: 20)
    }

    func meta(_ field: RedisArgument) async throws -> String? {
        let reply = try await redis.send(RedisCommand("HGET", store.keys.name(tag), field))
        return reply.isNil ? nil : try reply.string()
    }

    /// The pushes whose states late joiners would get, the newest first.
    func states() async throws -> [PushID] { try await store.lateJoiners.states(app, name).kept.map(\.id) }

    func update(
        _ audience: Audience = .all, event: ActivityEvent = .update, timestamp: Int? = nil
    ) async throws -> PushID {
        let publish = Publish(
            name: name, event: event, audience: audience, timestamp: timestamp, attributesType: "Match")
        let payload = #"{"aps":{"timestamp":0000000000,"event":"update"},"n":\#(Int.random(in: 0..<1_000))}"#
        let acceptance = try await store.pushes.accept(
            app, publish, id: .random(), payload: Array(payload.utf8), timestampOffset: 20)
        guard case .accepted(let id, _, _) = acceptance else { throw Unexpected(what: "\(acceptance)") }
        return id
    }

    func newest() async throws -> PushID {
        guard let id = try await store.names.info(app, name)?.lastPushID else { throw Unexpected(what: "no push") }
        return id
    }

    /// The next push of the name, with one shard that is claimed by an owner whose lease expires at once.
    func claimed() async throws -> Claim {
        let (begun, _) = try await store.sweeps.begin(app, name, expecting: .random(), owner: "w", lease: .zero)
        guard case .claimed(let claim) = begun else { throw Unexpected(what: "\(begun)") }
        return claim
    }

    func deliver(_ claim: Claim) async throws {
        let settled = try await store.sweeps.settle(
            claim.lease, for: .seconds(10), Settlement(range: claim.lease.bounds))
        guard case .ok = settled else { throw Unexpected(what: "\(settled)") }
    }

    func swept(_ id: PushID) async throws -> Claim {
        let claim = try await claimed()
        #expect(claim.record.id == id)
        try await deliver(claim)
        return claim
    }

    /// The claim of an automatic end that was begun.
    func automatic() async throws -> Claim {
        let task = EndTask(app: app, name: name, cutoff: start - 3_600_000 + .random(in: 0..<300_000))
        #expect(try await run(task).verdict == .ended)
        let claim = try await claimed()
        #expect(claim.record.cutoff == task.cutoff)
        return claim
    }

    /// The state that an automatic end would show now.
    func shown() async throws -> [UInt8]? {
        let claim = try await automatic()
        try await deliver(claim)
        return claim.record.shown
    }
}

extension Array {
    fileprivate func asyncMap<T>(_ body: (Element) async throws -> T) async rethrows -> [T] {
        var mapped: [T] = []
        for element in self { mapped.append(try await body(element)) }
        return mapped
    }
}
