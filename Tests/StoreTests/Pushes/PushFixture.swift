import LiveActivity
import Redis
import Synchronization
import TestSupport
import Testing

@testable import Store
@testable import StoreDeliveries

/// A store on a redis-server for one test, and short methods for the life of a push.
struct PushFixture {
    let server: RedisServer
    let store: Store
    let app = try! AppKey("shop")
    /// Longer than any test takes, so that no lease ends by itself.
    let lease = Duration.seconds(600)

    /// Where a name's work is.
    func partition(_ name: String = "match-1") throws -> Partition { store.keys.partition(try ActivityName(name)) }
    func reader(_ name: String = "match-1") throws -> WorkReader { store.reader(try partition(name)) }

    /// - Parameters:
    ///   - events: the app's outgoing events; nil: it has none.
    ///   - environment: variables of the Redis server
    static func start(
        retention: Duration = Keyspace.defaultRetention, events: EventPolicy? = nil,
        environment: [String: String] = [:]
    ) async throws -> PushFixture {
        let server = try await RedisServer.start(environment: environment)
        let fixture = PushFixture(
            server: server,
            store: Store(
                redis: RedisClient(url: server.url, scripts: Store.scripts, logger: .quiet), retention: retention,
                events: events.map { [try! AppKey("shop"): $0] } ?? [:], clock: { 1_795_000_002_000 }))
        // As each process does before it works.
        try await fixture.store.claimFormat()
        return fixture
    }

    /// One of the keys of a name, such as `Keyspace.unswept`.
    func key(_ key: (Keyspace) -> (String) -> RedisKey, _ name: String = "match-1") throws -> RedisKey {
        key(store.keys)(store.keys.tag(app, try ActivityName(name)))
    }

    func publish(
        _ name: String, event: ActivityEvent = .update, audience: Audience = .all, alert: Bool = false,
        priority: PushPriority = .high, timestamp: Int? = nil, id: PushID? = nil, isRepeatable: Bool = false,
        now: Int64 = 1_795_000_000_000
    ) async throws -> Acceptance {
        let publish = Publish(
            name: try ActivityName(name), event: event, audience: audience, priority: priority, timestamp: timestamp,
            alert: alert ? RawJSON(checked: #"{"title":"t"}"#) : nil)
        return try await store.pushes.accept(
            app, publish, id: id ?? .ordered(at: now, index: 0),
            payload: Array(#"{"aps":{"timestamp":0000000000}}"#.utf8), timestampOffset: 20, isRepeatable: isRepeatable,
            now: now)
    }

    func accepted(
        _ name: String, event: ActivityEvent = .update, audience: Audience = .all, alert: Bool = false,
        priority: PushPriority = .high
    ) async throws -> PushID {
        let acceptance = try await publish(name, event: event, audience: audience, alert: alert, priority: priority)
        guard case .accepted(let id, _, _) = acceptance else { throw Unexpected(what: "\(acceptance)") }
        return id
    }

    /// Accepts a push.
    /// - Parameters:
    ///   - state: whether it has a state
    ///   - reachesSilent: it is for Android too, and says whether it also goes to silent phones; nil: it is for iOS
    func push(
        _ event: ActivityEvent = .update, state: Bool = true, audience: Audience = .all, alert: Bool = false,
        expiry: Int? = nil, size: Int = 40, reachesSilent: Bool? = nil, name: String = "match-1",
        now: Int64 = 1_795_000_000_000
    ) async throws -> PushID {
        var publish = Publish(
            name: try ActivityName(name), event: event, audience: audience,
            contentState: state ? RawJSON(checked: "{}") : nil,
            alert: alert ? RawJSON(checked: #"{"title":"t"}"#) : nil, options: PublishOptions(expiry: expiry))
        var payload = Array(#"{"aps":{"timestamp":0000000000}}"#.utf8)
        payload += Array(repeating: 0x20, count: max(0, size - payload.count))
        if let reachesSilent {
            publish.contents[.android] = PlatformContent(
                contentState: RawJSON(checked: "{}"), reachesSilent: reachesSilent)
            payload = PushContent(payload: payload, contents: publish.contents).stored
        }
        let acceptance = try await store.pushes.accept(
            app, publish, id: .ordered(at: now, index: 0), payload: payload, timestampOffset: 20, now: now)
        guard case .accepted(let id, _, _) = acceptance else { throw Unexpected(what: "\(acceptance)") }
        return id
    }

    func track(_ name: String, count: Int) async throws {
        let registrations = try (0..<count).map { _ in
            Registration(
                channel: .random(), token: try PushToken(hex: Hex.encode(UUIDBytes.random().bytes)),
                registeredAt: 1_795_000_000_000)
        }
        _ = try await store.registry.track(app, .activity(try ActivityName(name)), registrations)
    }

    /// - Parameter interval: the least time between updates. Zero: the name is not paced.
    func begin(
        _ name: String, _ hint: PushID = .random(), owner: String = "w1", every interval: Duration = .zero
    ) async throws -> (begun: Begun, push: PushID) {
        try await store.sweeps.begin(
            app, try ActivityName(name), expecting: hint, owner: owner, lease: lease, minInterval: interval)
    }

    /// Begins the name's push, which must have one shard.
    func claimed(_ name: String, _ hint: PushID = .random(), owner: String = "w1") async throws -> Claim {
        let (begun, _) = try await begin(name, hint, owner: owner)
        guard case .claimed(let claim) = begun else { throw Unexpected(what: "\(begun)") }
        return claim
    }

    /// Claims the catch-up of a push and settles all of its arrivals as one page.
    func catchUp(_ name: String, _ id: PushID, _ body: (inout Settlement) -> Void) async throws {
        let claim = try await claim(name, id, .catchUp)
        var page = Settlement(range: ScanPosition(0)..<ScanPosition(1))
        body(&page)
        for arrival in try await store.sweeps.arrivals(app, ActivityName(name), after: 0, limit: 10) {
            page.caughtUp(arrival)
        }
        _ = try await settle(claim, page)
    }

    func settle(_ claim: Claim, _ settlement: Settlement) async throws -> Settled {
        try await store.sweeps.settle(claim.lease, for: lease, settlement)
    }

    /// Gives the name's lone push keys of its own, as a lease that is renewed does.
    func unpack(_ name: String) async throws {
        let part = WorkItem.Part.shard(index: 0, count: 1)
        let none = Lease(
            app: app, name: try ActivityName(name), push: .random(), part: part, owner: "", epoch: 0)
        #expect(try await !store.sweeps.giveBack(none))
    }

    /// Accepts a push that has keys of its own from the start, as behind an active push, and is alone all the same.
    func withOwnKeys<Answer>(_ name: String, _ accept: () async throws -> Answer) async throws -> Answer {
        let meta = try key(Keyspace.name, name)
        try await store.redis.send(RedisCommand("HSET", meta, "active", .string(PushID.random().description)))
        let answer = try await accept()
        try await store.redis.send(RedisCommand("HDEL", meta, "active"))
        return answer
    }

    /// Settles the whole shard as delivered.
    func deliver(_ claim: Claim, targets: Int) async throws -> Settled {
        var settlement = Settlement(range: claim.lease.bounds)
        settlement.targets = targets
        settlement.count(.delivered, targets)
        return try await settle(claim, settlement)
    }

    /// Settles the whole shard so that each channel waits for another attempt.
    func retry(_ claim: Claim, _ channels: [[UInt8]], due: Int64, attempts: Int = 1) async throws {
        var settlement = Settlement(range: claim.lease.bounds)
        settlement.targets = channels.count
        for channel in channels { settlement.retry(channel, due: due, attempts: attempts) }
        _ = try await settle(claim, settlement)
    }

    /// Settles the whole shard so that each channel waits for an older push.
    func joinQueues(_ claim: Claim, _ channels: [[UInt8]]) async throws {
        var settlement = Settlement(range: claim.lease.bounds)
        for channel in channels { settlement.joinQueue(channel, mostAttempts: 4) }
        _ = try await settle(claim, settlement)
    }

    /// Claims the lease on the name's waiting channels.
    func claimRetries(_ name: String, owner: String = "w1", for duration: Duration? = nil) async throws -> Lease {
        let claim = try await store.sweeps.claimRetries(
            app, try ActivityName(name), owner: owner, lease: duration ?? lease)
        guard case .claimed(let lease, _, _) = claim else { throw Unexpected(what: "\(claim)") }
        return lease
    }

    func due(_ lease: Lease, now: Int64 = .max / 2) async throws -> [WaitingChannel] {
        try await store.sweeps.dueChannels(lease, store.tokens, now: now, limit: 100)
    }

    func settle(_ lease: Lease, _ body: (inout RetrySettlement) -> Void) async throws {
        var settlement = RetrySettlement()
        body(&settlement)
        let settled = try await store.sweeps.settle(lease, for: self.lease, settlement)
        guard case .ok = settled else { throw Unexpected(what: "\(settled)") }
    }

    /// The pending removals of the name.
    func pendingRemovals(_ name: String) async throws -> [PendingRemoval] {
        let found = Mutex<[PendingRemoval]>([])
        try await store.sweeps.eachPendingRemoval(app, try ActivityName(name)) { part throws(StoreError) in
            found.withLock { $0 += part }
        }
        return found.withLock { $0 }
    }

    func firstRetry(_ name: String) async throws -> Int64? {
        try await store.sweeps.leftovers(app, try ActivityName(name)).firstRetry
    }

    /// Redis's time in epoch milliseconds.
    func redisTime() async throws -> Int64 {
        let reply = try await store.redis.send(RedisCommand("TIME", near: Keyspace.queue))
        return try #require(Int64(try reply[0].string())) * 1_000 + (try #require(Int64(try reply[1].string()))) / 1_000
    }

    func ledger(_ id: PushID) async throws -> Ledger {
        guard let ledger = try await store.pushes.ledger(app, id) else { throw Unexpected(what: "no ledger") }
        return ledger
    }
}

struct Unexpected: Error { var what: String }

extension RedisClient {
    /// How often each command ran, without those that count.
    func callsOfTheStore() async throws -> [String: Int] {
        // A connection names itself and loads the scripts. In a cluster that may come late.
        let others = ["config|", "client|", "script|", "info"]
        return try await calls().filter { call in !others.contains { call.key.hasPrefix($0) } }
    }
}

extension ScanPosition {
    /// A share of the whole range, in 1,024ths.
    static func share(_ part: UInt64) -> ScanPosition { ScanPosition(part << 22) }
}
