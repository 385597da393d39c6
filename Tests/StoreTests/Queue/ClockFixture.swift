import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store

/// A store on a Redis whose clock the test sets. Its processes are this one.
struct ClockFixture {
    let clock: TestClock
    let server: RedisServer
    let store: Store
    let app = try! AppKey("shop")
    let name = try! ActivityName("match-1")
    static let lease: Duration = .seconds(20)
    /// How far this process's copy of Redis's clock may be from it: a busy machine measures badly.
    static let inexact: Duration = .milliseconds(20)

    static func start() async throws -> ClockFixture {
        let clock = try TestClock()
        return try await ClockFixture(clock, RedisServer.start(clock: clock))
    }

    private init(_ clock: TestClock, _ server: RedisServer) async throws {
        (self.clock, self.server) = (clock, server)
        store = Store(redis: RedisClient(url: server.url, scripts: Store.scripts, logger: .quiet))
        try await look()
    }

    /// Looks at the clock until this process knows it: a busy machine may measure badly.
    private func look() async throws {
        try await eventually("the clock is known") {
            try await store.time.look()
            let before = store.time.now()
            let time = try await now()
            let inexact = Self.inexact.milliseconds
            return before - inexact <= time && time <= store.time.now() + inexact
        }
    }

    /// Redis's time, epoch ms.
    func now() async throws -> Int64 {
        let time = try await store.redis.send(RedisCommand("TIME", near: Keyspace.queue))
        return try #require(Int64(time[0].string())) * 1_000 + (try #require(Int64(time[1].string()))) / 1_000
    }

    /// The same server without data, for another process.
    func emptied() async throws -> ClockFixture {
        _ = try await store.redis.everywhere("FLUSHALL")
        clock.set(ahead: .zero)
        return try await ClockFixture(clock, server)
    }

    /// Sets Redis's clock, and lets this process do what a worker does about it.
    /// - Returns: the time from the last look before to the first one after, by which a step seems smaller, and by how
    ///   much the copy may be off.
    @discardableResult func set(ahead: Duration) async throws -> Duration {
        try await look()
        let before = store.time.step
        let looked = bootClock()
        clock.set(ahead: ahead)
        try await store.time.look()
        let lag = Duration.milliseconds(bootClock() - looked)
        try await look()
        if let step = store.time.step, step != before {
            try await store.queue.hasten([app], step, now: store.time.now())
            try await store.alarms.shorten(app)
        }
        return lag + Self.inexact
    }

    var tag: String { store.keys.tag(app, name) }
    var meta: RedisKey { store.keys.name(tag) }

    func accept(event: ActivityEvent = .update, alert: Bool = false) async throws -> PushID {
        let id = PushID.random()
        let publish = Publish(
            name: name, event: event, audience: .all, contentState: RawJSON(checked: "{}"),
            alert: alert ? RawJSON(checked: #"{"title":"t"}"#) : nil)
        let acceptance = try await store.pushes.accept(
            app, publish, id: id, payload: Array(#"{"aps":{"timestamp":0000000000}}"#.utf8), timestampOffset: 20)
        guard case .accepted = acceptance else { throw Unexpected(what: "\(acceptance)") }
        return id
    }

    func begin(
        owner: String = "w1", interval: Duration = .zero, budget: HighBudget = HighBudget()
    ) async throws -> Begun {
        try await store.sweeps.begin(
            app, name, expecting: .random(), owner: owner, lease: Self.lease, minInterval: interval, budget: budget
        ).begun
    }

    /// Begins the name's push and settles it with these channels to be tried again, or delivers it to nobody.
    func sweep(
        interval: Duration = .zero, budget: HighBudget = HighBudget(), retry channels: [[UInt8]] = [],
        after pause: Duration = .zero
    ) async throws -> Claim {
        let begun = try await begin(interval: interval, budget: budget)
        guard case .claimed(let claim) = begun else { throw Unexpected(what: "\(begun)") }
        var settlement = Settlement(range: claim.lease.bounds)
        settlement.targets = channels.count
        for channel in channels {
            settlement.retry(channel, due: store.time.now() + pause.milliseconds, attempts: 1)
        }
        _ = try await store.sweeps.settle(claim.lease, for: Self.lease, settlement)
        return claim
    }

    func track(_ token: String, _ channel: ChannelID, at time: Int64? = nil, wantsState: Bool = false) async throws
        -> RegistrationResult
    {
        var registration = Registration(
            channel: channel, token: try PushToken(hex: token), registeredAt: time ?? store.time.now())
        registration.wantsState = wantsState
        return try await store.registry.track(app, .activity(name), [registration])[0]
    }

    /// The tokens that follow, in hex.
    func tokens() async throws -> [String] {
        let (page, _) = try await store.tokens.page(app, .activity(name), from: .start, to: .end, limit: 10)
        return (0..<page.count).map { Hex.encode(page.token($0)) }
    }

    func number(_ key: RedisKey, _ field: String) async throws -> Int64? {
        let text = try await store.redis.send(RedisCommand("HGET", key, .string(field)))
        return text.isNil ? nil : Int64(try text.string().prefix { $0 != " " })
    }

    func score(_ key: RedisKey) async throws -> Int64? {
        let first = try await store.redis.send(RedisCommand("ZRANGE", key, "0", "0", "WITHSCORES"))
        return try first.array().isEmpty ? nil : Double(first[1].string()).map { Int64($0) }
    }
}
