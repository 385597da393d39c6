import LiveActivity
import Redis
import Synchronization
import TestSupport

@testable import Store
@testable import StoreDeliveries
@testable import StoreGround

/// A store whose time is what the test says, with pushes that have counts.
final class SumsFixture: Sendable {
    static let hour: Int64 = 3_600_000
    /// 2026-11-21T18:30:00
    static let start: Int64 = 1_795_285_800_000

    let server: RedisServer
    let store: Store
    let app = try! AppKey("shop")
    private let clock: TestTime

    private final class TestTime: Sendable {
        let value = Mutex(SumsFixture.start)
    }

    var now: Int64 {
        get { clock.value.withLock(\.self) }
        set { clock.value.withLock { $0 = newValue } }
    }
    /// The hour of now, since 1970.
    var hour: Int64 { now / Self.hour }

    init() async throws {
        server = try await RedisServer.start()
        let clock = TestTime()
        self.clock = clock
        // The time before the first measurement is the machine's, and no test measures.
        store = Store(
            redis: RedisClient(url: server.url, scripts: Store.scripts, logger: .quiet), notes: FollowingNote.all,
            machine: { clock.value.withLock(\.self) })
        try await store.claimFormat()
    }

    /// Accepts a push some hours ago, which then ends with these counts.
    @discardableResult
    func push(
        _ age: Double, _ name: String = "match-1", event: ActivityEvent = .update, id: PushID? = nil,
        targets: Int = 10, delivered: Int = 8, failed: Int = 0, isOpen: Bool = false, deadline: Int64? = nil,
        audience: Audience = .all, trace: ChannelID? = nil
    ) async throws -> PushID {
        let at = now - Int64((age * Double(Self.hour)).rounded())
        // Each has an end of its own: a newer push of the name supersedes none.
        let publish = Publish(
            name: try ActivityName(name), event: event, audience: audience,
            options: PublishOptions(conflate: false, trace: trace))
        let acceptance = try await store.pushes.accept(
            app, publish, id: id ?? .ordered(at: at, index: Int.random(in: 0..<200)),
            payload: Array(#"{"aps":{"timestamp":0000000000}}"#.utf8), timestampOffset: 20, now: at)
        guard case .accepted(let id, _, _) = acceptance else { throw NeverHappened(description: "\(acceptance)") }
        guard !isOpen else { return id }
        _ = try await store.pushes.cancel(app, id, now: at + 1_500)
        var fields: [RedisArgument] = [
            "state", "done", "targets", .int(targets), "delivered", .int(delivered), "failed", .int(failed),
            "finished", .int(at + 1_500),
        ]
        if let deadline { fields += ["until", .int(deadline)] }
        try await set(id, name, fields)
        return id
    }

    func set(_ id: PushID, _ name: String = "match-1", _ fields: [RedisArgument]) async throws {
        let tag = store.keys.tag(app, try ActivityName(name))
        try await store.redis.send(RedisCommand("HSET", store.keys.push(tag, id), fields))
    }

    /// Removes a push, as the end of its life does.
    func forget(_ id: PushID, _ name: String = "match-1") async throws {
        let name = try ActivityName(name)
        try await store.redis.send(RedisCommand("DEL", store.keys.push(store.keys.tag(app, name), id)))
        try await store.redis.run([store.pushes.index.drop(app, id, name)])
    }

    func work(owner: String = "worker-1") async throws { try await store.sums.work(app, owner: owner) }

    /// Pushes, targets and deliveries of all days, or of those of a name.
    func total(_ name: String? = nil, by period: Sums.Period = .day) async throws -> [Int] {
        let newest = now / period.length
        let name = try name.map { try ActivityName($0) }
        let view = try await store.sums.read(app, by: period, newest - 20 * 24...newest, .whole(name))
        let total = view.total.sums.values.reduce(into: SumCounts()) { $0 += $1 }
        return [total.pushes, total.outcomes.targets, total.outcomes.delivered]
    }

    /// Deliveries of each day that has pushes, the oldest first.
    func days() async throws -> [Int] {
        let newest = now / Sums.Period.day.length
        let view = try await store.sums.read(app, by: .day, newest - 30...newest, .whole(nil))
        return view.periods.sorted { $0.key < $1.key }.map { _, table in
            table.sums.values.map(\.outcomes.delivered).reduce(0, +)
        }
    }
}
