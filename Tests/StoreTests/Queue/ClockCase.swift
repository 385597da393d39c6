import LiveActivity
import Redis
import Testing

@testable import Store
@testable import StoreDeliveries
@testable import StoreGround
@testable import StoreRegistry

/// A wait that a stored time ends, for the table of `ClockStepTests`.
struct ClockCase: Sendable, CustomTestStringConvertible, CustomStringConvertible {
    /// How long the wait still is, zero if it is over.
    typealias Left = () async throws -> Duration

    let description: String
    var testDescription: String { description }
    let scripts: Set<String>
    /// The length of the wait.
    let longest: Duration
    /// Begins the wait.
    let begin: @Sendable (ClockFixture) async throws -> Left

    init(
        _ description: String, _ scripts: Set<String>, _ longest: Duration,
        begin: @escaping @Sendable (ClockFixture) async throws -> Left
    ) {
        (self.description, self.scripts, self.longest, self.begin) = (description, scripts, longest, begin)
    }

    static let all = names + leases + broadcasts + limits + timers

    /// From now until a time of a timer or a field.
    private static func left(_ fixture: ClockFixture, until time: Int64?) async throws -> Duration {
        max(.zero, .milliseconds((time ?? 0) - (try await fixture.now())))
    }

    private static let names: [ClockCase] = [
        ClockCase("pacing", ["push-begin"], .seconds(2)) { fixture in
            _ = try await fixture.accept()
            _ = try await fixture.sweep(interval: .seconds(2))
            _ = try await fixture.accept()
            return {
                if case .paced(let left) = try await fixture.begin(interval: .seconds(2)) { left } else { .zero }
            }
        },
        ClockCase("the repeated wake-up of a name", ["push-accept"], WorkQueue.wakeAgain) { fixture in
            _ = try await fixture.accept(alert: true)
            return {
                let now = fixture.store.time.now()
                _ = try await fixture.accept(alert: true)
                let woken = try #require(try await fixture.number(fixture.meta, "woken"))
                let isWoken = abs(woken - now) < 1_000
                return isWoken ? .zero : .milliseconds(woken - now) + WorkQueue.wakeAgain
            }
        },
        ClockCase("the repeated wake-up for late joiners", ["registry-set"], WorkQueue.wakeAgain) { fixture in
            _ = try await fixture.accept()
            _ = try await fixture.sweep()
            _ = try await fixture.track("aa01", .random(), wantsState: true)
            return {
                let now = fixture.store.time.now()
                _ = try await fixture.track("aa02", .random(), wantsState: true)
                let woken = try #require(try await fixture.number(fixture.meta, "late"))
                let isWoken = abs(woken - now) < 1_000
                return isWoken ? .zero : .milliseconds(woken - now) + WorkQueue.wakeAgain
            }
        },
        ClockCase("an app's new version and its removals", ["channel-cleared"], .seconds(600)) { fixture in
            let (app, channel, channels) = (fixture.app, ChannelID.random(), fixture.store.channels)
            try await channels.register(app, channel, tags: TagChange(), namedUser: nil)
            for version in ["1", "2"] { _ = try await channels.note(version: version, app, channel) }
            return {
                let cleared = ClearedNames([fixture.name], last: 0)
                if try await channels.noteCleared(cleared, app, channel).isEmpty { return .zero }
                let key = fixture.store.keys.channel(app, channel)
                let version = try await fixture.store.redis.send(RedisCommand("HGET", key, "version")).string()
                let changed = try #require(version.split(separator: " ").first.flatMap { Int64($0) })
                return try await left(fixture, until: changed + 600_000)
            }
        },
        ClockCase("the hour of the budget", ["push-begin"], .seconds(3_600)) { fixture in
            let budget = HighBudget(perHour: 1)
            _ = try await fixture.accept()
            _ = try await fixture.sweep(budget: budget)
            return {
                let id = try await fixture.accept()
                _ = try await fixture.sweep(budget: budget)
                let push = fixture.store.keys.push(fixture.tag, id)
                if try await fixture.store.redis.send(RedisCommand("HEXISTS", push, "demote")).integer() == 0 {
                    return .zero
                }
                return try await left(
                    fixture, until: try await fixture.number(fixture.meta, "budget").map { $0 + 3_600_000 })
            }
        },
        ClockCase("the crossing of a channel's changes", ["channel-confirm", "channel-mark"], .seconds(60)) { fixture in
            let channel = ChannelID.random()
            func change(_ edit: (inout TagChange) -> Void) async throws {
                var tags = TagChange()
                edit(&tags)
                try await fixture.store.channels.tag(fixture.app, [channel], tags)
            }
            let (record, vip) = (fixture.store.keys.channel(fixture.app, channel), RedisArgument("t:device:vip"))
            // A writer that dies before it changes the set, and another one that wants the opposite.
            for word: RedisArgument in ["add", "remove"] {
                _ = try await fixture.store.redis.run(
                    Lua.channelMark, keys: ["c": record],
                    ["now": .int(fixture.store.time.now()), "life": "0", "crossing": "60000"],
                    rest: ["most", "100", word, vip])
            }
            return {
                try await change { $0.add["device"] = ["other"] }
                let sign = try await fixture.store.redis.send(RedisCommand("HGET", record, vip))
                return sign.isNil ? .zero : try await left(fixture, until: Int64(try sign.string().dropFirst()))
            }
        },
    ]

    private static let leases: [ClockCase] = [
        ClockCase("the lease of a shard", ["push-begin", "task-claim", "task-renew"], ClockFixture.lease) { fixture in
            let id = try await fixture.accept(alert: true)
            guard case .claimed = try await fixture.begin() else { throw Unexpected(what: "not claimed") }
            let item = WorkItem(
                app: fixture.app, name: fixture.name, push: id, priority: .high, part: .shard(index: 0, count: 1))
            return {
                let claim = try await fixture.store.sweeps.claim(item, owner: "w2", lease: ClockFixture.lease)
                if case .held(let left) = claim { return left }
                return .zero
            }
        },
        ClockCase("the lease of a name's retries", ["retry-claim", "retry-settle"], ClockFixture.lease) { fixture in
            _ = try await fixture.accept(alert: true)
            _ = try await fixture.sweep(retry: [[1, 2]])
            func claim(_ owner: String) async throws -> RetryClaim {
                try await fixture.store.sweeps.claimRetries(
                    fixture.app, fixture.name, owner: owner, lease: ClockFixture.lease)
            }
            _ = try await claim("w1")
            return { if case .held(let left) = try await claim("w2") { left } else { .zero } }
        },
        ClockCase("the lease to make broadcast channels", ["broadcast-lease"], ClockFixture.lease) { fixture in
            let broadcasts = fixture.store.broadcasts
            _ = try await broadcasts.claim(fixture.app, owner: "w1", for: ClockFixture.lease)
            return {
                let lease = try await broadcasts.claim(fixture.app, owner: "w2", for: ClockFixture.lease)
                return lease == nil ? ClockFixture.lease : .zero
            }
        },
        ClockCase("the lease of an app's work", ["app-lease"], ClockFixture.lease) { fixture in
            let key = fixture.store.keys.key("work:{\(fixture.app)}:lease")
            func hold(_ owner: RedisArgument) async throws -> Bool {
                try await fixture.store.redis.run(
                    Lua.appLease, keys: ["lease": key],
                    ["owner": owner, "length": .int(ClockFixture.lease.milliseconds)]
                ).isOne()
            }
            _ = try await hold("w1")
            return {
                if try await hold("w2") { return .zero }
                return .milliseconds(try await fixture.store.redis.send(RedisCommand("PTTL", key)).integer())
            }
        },
        ClockCase("a schedule that another worker has", ["schedule-claim"], Schedules.hold) { fixture in
            let key = fixture.store.keys.schedule(fixture.app, .random())
            let now = fixture.store.time.now()
            try await fixture.store.redis.send(
                RedisCommand("HSET", key, ["state", "scheduled", "due", .int(now), "name", "match-1"]))
            func claim() async throws -> String {
                try await fixture.store.redis.run(
                    Lua.scheduleClaim, keys: ["at": key],
                    ["now": .int(fixture.store.time.now()), "hold": .int(Schedules.hold.milliseconds)])[0].string()
            }
            let first = try await claim()
            #expect(first == "taken")
            return { try await claim() == "held" ? Schedules.hold : .zero }
        },
    ]

    /// A name with a live broadcast channel and an update in its queue. Gives a way to take the next broadcast.
    private static func queued(_ fixture: ClockFixture) async throws -> @Sendable () async throws -> BroadcastTurn {
        let (broadcasts, now) = (fixture.store.broadcasts, fixture.store.time.now())
        let id = try BroadcastChannelID("dHN0LXNyY2gtY2hubA==")
        _ = try await broadcasts.want(fixture.app, fixture.name, .none, now: now)
        _ = try await broadcasts.live(fixture.app, fixture.name, id, now: now)
        try await push(fixture)
        return {
            try await broadcasts.take(fixture.app, fixture.name, owner: "w1", lease: ClockFixture.lease).turn
        }
    }

    private static func push(_ fixture: ClockFixture) async throws {
        _ = try await fixture.accept()
        _ = try await fixture.sweep()
    }

    private static func wait(_ turn: BroadcastTurn) -> Duration {
        switch turn {
        case .held(let left), .wait(let left): left
        default: .zero
        }
    }

    private static func task(_ turn: BroadcastTurn) throws -> BroadcastTask {
        guard case .send(let task) = turn else { throw Unexpected(what: "\(turn)") }
        return task
    }

    private static let broadcasts: [ClockCase] = [
        ClockCase("the lease of a broadcast", ["broadcast-take"], ClockFixture.lease) { fixture in
            let take = try await queued(fixture)
            _ = try task(try await take())
            return { wait(try await take()) }
        },
        ClockCase("the interval between two broadcasts", ["broadcast-take"], Broadcasts.interval) { fixture in
            let take = try await queued(fixture)
            _ = try await fixture.store.broadcasts.settle(try task(try await take()), BroadcastSettlement(.delivered))
            try await push(fixture)
            return { wait(try await take()) }
        },
        ClockCase("the pause before a broadcast's retry", ["broadcast-take", "broadcast-settle"], .seconds(30)) {
            fixture in
            let take = try await queued(fixture)
            _ = try await fixture.store.broadcasts.settle(
                try task(try await take()), BroadcastSettlement(.again(after: .seconds(30)), reason: "Timeout"))
            return { wait(try await take()) }
        },
    ]

    /// A token may be ahead a little.
    private static let refused = .seconds(ProviderTokens.Rule.apns.leastAfterRefusal) + ProviderTokens.tolerance

    private static let limits: [ClockCase] = [
        ClockCase("requests of a caller", ["rate-take"], .milliseconds(100)) { fixture in
            _ = try await fixture.store.rates.take("caller", perSecond: 10, wanted: 10)
            return {
                let (taken, wait) = try await fixture.store.rates.take("caller", perSecond: 10, wanted: 1)
                return taken > 0 ? .zero : .milliseconds(wait)
            }
        },
        ClockCase("the delivery rate", ["delivery-turn"], .milliseconds(2_500)) { fixture in
            let rate = try #require(DeliveryRate(ofApp: 1_000, ofPush: 500))
            let push = PushID.random()
            func take(_ tokens: Int) async throws -> DeliveryTurn {
                try await fixture.store.deliveryRates.take(
                    fixture.app, push, tokens: tokens, rate, horizon: .seconds(2))
            }
            while try await take(125).isTaken {}
            return {
                let turn = try await take(1)
                return turn.isTaken ? .zero : turn.wait
            }
        },
        ClockCase("the prune guard's window", ["guard-count"], .seconds(600)) { fixture in
            let span = TokenVerdictSpan(window: 10, memory: 60, least: 0)
            var counts = TokenVerdictCounts()
            (counts.answers, counts.dead) = (10, 10)
            _ = try await fixture.store.tokenVerdicts.add(
                AppPlatform(fixture.app, .ios), [(age: 0, counts: counts)], over: span)
            return {
                let sums = try await fixture.store.tokenVerdicts.add(AppPlatform(fixture.app, .ios), [], over: span)
                return sums.app.answers > 0 ? .seconds(600) : .zero
            }
        },
        ClockCase("an alarm that nobody repeats", ["alarm-raise"], .seconds(900)) { fixture in
            try await fixture.store.alarms.raise(fixture.app, .unreachable, "no answer")
            let key = fixture.store.keys.alarm(fixture.app)
            return {
                if try await fixture.store.alarms.list([fixture.app]).isEmpty { return .zero }
                return try await left(fixture, until: try await fixture.number(key, "unreachable:until"))
            }
        },
        ClockCase("a renewed token that APNs refuses", ["provider-token"], refused) { fixture in
            func agree(_ text: String, refused: ProviderToken?) async throws -> ProviderToken? {
                let now = Int(fixture.store.time.now() / 1_000)
                return try await fixture.store.providerTokens.agree(
                    fixture.app, key: "key", candidate: ProviderToken(jwt: text, issuedAt: now), refused: refused,
                    now: now)
            }
            let first = try await agree("first", refused: nil)
            let second = try #require(try await agree("second", refused: first))
            return { try await agree("third", refused: second) == nil ? refused : .zero }
        },
        ClockCase("sign-ins that failed", [], .seconds(600)) { fixture in
            func attempt() async throws -> (count: Int, left: Int) {
                try await fixture.store.console.attempt("network", span: .seconds(600))
            }
            _ = try await attempt()
            return {
                let (count, left) = try await attempt()
                return count == 1 ? .zero : .milliseconds(left)
            }
        },
    ]

    private static let timers: [ClockCase] = [
        ClockCase("a task of the timer", ["timer-hasten", "clock-look"], .seconds(30)) { fixture in
            let due = fixture.store.time.now() + 30_000
            try await fixture.store.queue.schedule(.retries(fixture.app, fixture.name, .high), due: due)
            return { try await left(fixture, until: try await fixture.store.queue.nextDue([fixture.app]).task) }
        },
        ClockCase("the reconciler's next look", ["timer-hasten"], .seconds(30)) { fixture in
            _ = try await fixture.accept()
            let open = fixture.store.keys.open(fixture.app, fixture.store.keys.partition(fixture.name))
            return { try await left(fixture, until: try await fixture.score(open).map { $0 + 30_000 }) }
        },
        ClockCase("a name that is claimed for an automatic end", ["end-claim", "timer-hasten"], AutomaticEnds.hold) {
            fixture in
            let keys = fixture.store.keys
            try await fixture.store.redis.send(RedisCommand("ZADD", keys.ends(fixture.app), ["1", "match-1"]))
            let tasks = try await fixture.store.automaticEnds.take(
                fixture.app, EndRule(after: .seconds(3_600)), limit: 8)
            #expect(tasks.count == 1)
            return { try await left(fixture, until: try await fixture.score(keys.claimedEnds(fixture.app))) }
        },
        ClockCase("a note of the channels' index that is set aside", ["following-drop"], .seconds(30)) { fixture in
            let (index, app, channel) = (fixture.store.followings, fixture.app, ChannelID.random().stored)
            let place = TokenPlace.activity(fixture.name)
            try await index.note(app, channel, place)
            #expect(try await !index.drop(app, channel, [place]))
            let key = try await fixture.store.registry.buckets.hashKey()
            let hash = fixture.store.keys.followings(app, FollowingIndex.bucket(of: channel, key))
            let aside = RedisArgument.bytes([0] + FollowingIndex.field(channel, Array(place.stored.utf8)))
            return {
                if try await index.drop(app, channel, [place]) { return .zero }
                let value = try await fixture.store.redis.send(RedisCommand("HGET", hash, aside)).bytes()
                let since = Int64(String(decoding: value.dropFirst(3), as: UTF8.self))
                return try await left(fixture, until: since.map { $0 + FollowingIndex.wait })
            }
        },
        ClockCase("the second look at a channel that is forgotten", ["timer-hasten"], .seconds(60)) { fixture in
            _ = try await fixture.store.forgetting.note(fixture.app, [.random()])
            let steps = fixture.store.keys.forgetSteps(fixture.app)
            return { try await left(fixture, until: try await fixture.score(steps)) }
        },
        ClockCase("the work on a broadcast channel", ["timer-hasten"], .seconds(60)) { fixture in
            try await fixture.store.broadcasts.postpone(
                fixture.app, fixture.name, until: fixture.store.time.now() + 60_000)
            let timers = fixture.store.keys.broadcastTimers(fixture.app)
            return { try await left(fixture, until: try await fixture.score(timers)) }
        },
    ]
}
