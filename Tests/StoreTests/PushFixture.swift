import LiveActivity
import Logging
import Redis
import TestSupport

@testable import Store

/// A store on a redis-server of its own, and the few words that the stories of pushes are told in.
struct PushFixture {
    let server: RedisServer
    let store: Store
    let app = try! AppKey("shop")
    let lease = Duration.seconds(10)

    static func start() async throws -> PushFixture {
        let server = try await RedisServer.start()
        let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        return PushFixture(
            server: server,
            store: Store(
                redis: RedisClient(url: server.url, scripts: Store.scripts, logger: logger),
                clock: { 1_795_000_002_000 }))
    }

    func publish(
        _ name: String, event: ActivityEvent = .update, audience: Audience = .all, alert: Bool = false,
        priority: PushPriority = .high, timestamp: Int? = nil, id: PushID = .random(), now: Int64 = 1_795_000_000_000
    ) async throws -> Acceptance {
        let publish = Publish(
            name: try ActivityName(name), event: event, audience: audience, priority: priority, timestamp: timestamp,
            alert: alert ? RawJSON(checked: #"{"title":"t"}"#) : nil)
        return try await store.pushes.accept(
            app, publish, id: id, payload: Array(#"{"aps":{"timestamp":0000000000}}"#.utf8), timestampOffset: 20,
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

    func track(_ name: String, count: Int) async throws {
        let registrations = try (0..<count).map { _ in
            Registration(
                channel: .random(), token: try PushToken(hex: Hex.encode(UUIDBytes.random().bytes)),
                registeredAt: 1_795_000_000_000)
        }
        _ = try await store.registry.track(app, try ActivityName(name), registrations)
    }

    func begin(_ name: String, _ hint: PushID = .random(), owner: String = "w1") async throws -> (
        begun: Begun, push: PushID
    ) {
        try await store.sweeps.begin(app, try ActivityName(name), hint: hint, owner: owner, lease: lease)
    }

    /// Begins the name's push, which must be of one shard.
    func claimed(_ name: String, _ hint: PushID = .random(), owner: String = "w1") async throws -> Claim {
        let (begun, _) = try await begin(name, hint, owner: owner)
        guard case .claimed(let claim) = begun else { throw Unexpected(what: "\(begun)") }
        return claim
    }

    func settle(_ claim: Claim, _ settlement: Settlement) async throws -> Settled {
        try await store.sweeps.settle(
            app, claim.lease.name, claim.lease.push, lease: claim.lease, for: lease, settlement)
    }

    /// Settles the whole shard as delivered.
    func deliver(_ claim: Claim, targets: Int) async throws -> Settled {
        var settlement = Settlement(range: claim.lease.bounds)
        settlement.targets = targets
        settlement.count(.delivered, targets)
        return try await settle(claim, settlement)
    }

    func ledger(_ id: PushID) async throws -> Ledger {
        guard let ledger = try await store.pushes.ledger(app, id) else { throw Unexpected(what: "no ledger") }
        return ledger
    }
}

struct Unexpected: Error { var what: String }

extension ScanPosition {
    /// A share of the whole range, in 1,024ths.
    static func share(_ part: UInt64) -> ScanPosition { ScanPosition(part << 22) }
}
