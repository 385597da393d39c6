import APNsClient
import APNsWire
import Delivery
import Fanout
import LiveActivity
import Redis
import ServiceLifecycle
import Spans
import Store
import TestSupport
import Testing

/// A Redis for one test, a name with followers, and workers that run until they are stopped.
struct WorkerFixture {
    let server: RedisServer
    let store: Store
    let app = try! AppKey("shop")
    let name = try! ActivityName("match-1")

    /// Starts the fixture.
    /// - Parameters:
    ///   - keeps: Redis writes each change to the disk, for a test that kills it.
    ///   - extra: further options of redis-server.
    ///   - events: the app's outgoing events; nil: it has none.
    static func start(
        keeps: Bool = false, extra: [String] = [], events: EventPolicy? = nil
    ) async throws -> WorkerFixture {
        let server = try await RedisServer.start(append: keeps, extra: extra)
        let fixture = WorkerFixture(
            server: server,
            store: Store(
                redis: RedisClient(url: server.url, scripts: Store.scripts, logger: .quiet),
                events: events.map { [try! AppKey("shop"): $0] } ?? [:]))
        // As each process does before it works.
        try await fixture.store.claimFormat()
        return fixture
    }

    func track(_ channel: ChannelID, _ number: Int, secondsAgo: Int = 0) async throws {
        let registration = Registration(
            channel: channel, token: try #require(Self.token(number)),
            registeredAt: nowMilliseconds() - Int64(secondsAgo) * 1_000)
        let results = try await store.registry.track(app, .activity(name), [registration])
        #expect(results == [.stored])
    }

    func untrack(_ channel: ChannelID) async throws {
        try await store.registry.untrack(
            app, .activity(name), [Untrack(channel: channel, removedAt: nowMilliseconds())])
    }

    /// Followers whose tokens are the numbers from `range`, four bytes each.
    @discardableResult
    func track(_ range: Range<Int>, as channels: [ChannelID]? = nil) async throws -> [ChannelID] {
        let channels = channels ?? range.map { _ in .random() }
        let registrations = try zip(range, channels).map { number, channel in
            Registration(
                channel: channel, token: try #require(Self.token(number)), registeredAt: nowMilliseconds() - 60_000)
        }
        _ = try await store.registry.track(app, .activity(name), registrations)
        return channels
    }

    static func token(_ number: Int) -> PushToken? {
        PushToken(bytes: (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) })
    }

    static func number(_ token: [UInt8]) -> Int { token.reduce(0) { $0 << 8 | Int($1) } }

    func publish(
        _ audience: Audience = .all, alert: Bool = true, event: ActivityEvent = .update, expiry: Int? = nil,
        priority: PushPriority = .high, label: String = "", id: PushID = .random(), to other: ActivityName? = nil,
        traceparent: String? = nil, android: PlatformContent? = nil, now: Int64 = nowMilliseconds()
    ) async throws -> PushID {
        var publish = Publish(
            name: other ?? name, event: event, audience: audience, priority: priority,
            alert: alert ? RawJSON(checked: #"{"title":"t"}"#) : nil, options: PublishOptions(expiry: expiry))
        publish.traceparent = traceparent
        publish.contents[.android] = android
        let payload = Array(#"{"aps":{"timestamp":0000000000},"label":"\#(label)"}"#.utf8)
        let acceptance = try await store.pushes.accept(
            app, publish, id: id,
            payload: PushContent(payload: payload, contents: publish.contents).stored, timestampOffset: 20, now: now)
        guard case .accepted(let id, _, _) = acceptance else { throw WorkerFixtureError(description: "\(acceptance)") }
        return id
    }

    /// - Parameter senders: the app's platforms; nil: APNs with the transport
    func group(
        _ transport: any PushTransport = ScriptedTransport(), other: (any PushTransport)? = nil,
        senders: [any PlatformSender]? = nil, _ name: String = "w",
        claimAfter: Duration = Self.patience, minInterval: Duration = .zero, pageSize: Int = 1_000,
        concurrency: Int = 48, attempts: Int = 4, budget: HighBudget = HighBudget(), endAfter: Duration? = nil,
        tasks: [@Sendable () async -> Void] = [], startHold: Duration = .seconds(10), rate: DeliveryRate? = nil,
        backoff: Duration = .milliseconds(20), spans: SpanExporter? = nil,
        now: @escaping @Sendable () -> Int64 = bootClock, live: (inout WorkerOptions) -> Void = { _ in }
    ) -> ServiceGroup {
        var options = WorkerOptions(name: name)
        options.pageSize = pageSize
        options.claimAfter = claimAfter
        options.concurrency = concurrency
        options.startHold = startHold
        options.now = now
        var served = WorkerApp(
            key: app, bundleID: "com.example.shop", transport: transport, otherTransport: other)
        if let senders { served.senders = senders }
        let worker = Worker(
            store: store, apps: [served], options: options, logger: .quiet, spans: spans, tasks: tasks)
        // Live options come by a reload, so that each test of an effect is a test of the reload too.
        options.minInterval = minInterval
        options.budget = budget
        options.retries.base = backoff
        options.retries.attempts = attempts
        options.endAfter[app] = endAfter
        options.rates[app] = rate
        live(&options)
        worker.reload(options)
        return ServiceGroup(configuration: .init(services: [.init(service: worker)], logger: .quiet))
    }

    /// The life of leases: long enough for a busy machine, because a worker that loses a lease sends pages twice. Only
    /// tests about a dead worker's work set a shorter one, or call `ageEntries`.
    static let patience = Duration.seconds(30)

    /// Runs a worker during `body`, then stops it gracefully.
    func withWorker<T: Sendable>(
        _ transport: any PushTransport = ScriptedTransport(), other: (any PushTransport)? = nil,
        senders: [any PlatformSender]? = nil, claimAfter: Duration = Self.patience,
        minInterval: Duration = .zero, pageSize: Int = 1_000, concurrency: Int = 48, budget: HighBudget = HighBudget(),
        endAfter: Duration? = nil, tasks: [@Sendable () async -> Void] = [],
        startHold: Duration = .seconds(10), rate: DeliveryRate? = nil, backoff: Duration = .milliseconds(20),
        spans: SpanExporter? = nil, now: @escaping @Sendable () -> Int64 = bootClock,
        live: (inout WorkerOptions) -> Void = { _ in },
        _ body: @Sendable () async throws -> T
    ) async throws -> T {
        let group = group(
            transport, other: other, senders: senders, claimAfter: claimAfter, minInterval: minInterval,
            pageSize: pageSize,
            concurrency: concurrency, budget: budget, endAfter: endAfter, tasks: tasks,
            startHold: startHold, rate: rate, backoff: backoff, spans: spans, now: now, live: live)
        async let running: Void = group.run()
        let value: T
        do { value = try await body() } catch {
            // Let held pages go, because they would keep the worker from ending.
            (transport as? ScriptedTransport)?.letGo()
            await group.triggerGracefulShutdown()
            throw error
        }
        await group.triggerGracefulShutdown()
        try await running
        return value
    }

    /// A shard of the push, claimed by a worker that does not exist any more.
    func claimed(_ id: PushID, owner: String = "dead", lease: Duration = .seconds(10)) async throws -> Claim {
        let (begun, _) = try await store.sweeps.begin(app, name, expecting: id, owner: owner, lease: lease)
        guard case .claimed(let claim) = begun else { throw WorkerFixtureError(description: "\(begun)") }
        return claim
    }

    /// Waits until the clock is later than `time`.
    func isLater(than time: Int64) async throws {
        try await eventually("a time after \(time)", every: .milliseconds(1)) { nowMilliseconds() > time }
    }

    /// Waits until the push's sweep is over. Channels may still wait.
    func swept(_ id: PushID) async throws {
        try await eventually("it is swept") { try await store.pushes.ledger(app, id)?.expanded == true }
    }

    /// The ledger when the push is final. The wait is limited, so a push that never ends fails its test.
    func finished(_ id: PushID, of app: AppKey? = nil) async throws -> Ledger {
        var ledger: Ledger?
        try await eventually("final: \(String(describing: ledger))") {
            do throws(StoreError) {
                ledger = try await store.pushes.ledger(app ?? self.app, id)
            } catch {
                // A cluster with a missing part refuses commands a moment longer.
                guard error.isPassing else { throw error }
            }
            return ledger?.state.isFinal == true
        }
        return try #require(ledger)
    }

    /// Repeats a call until Redis, which a test kills, answers it.
    static func untilRedisAnswers(_ body: () async throws -> Void) async throws {
        try await eventually("Redis answers", errorsPass: true) {
            try await body()
            return true
        }
    }
}

struct WorkerFixtureError: Error { var description: String }
