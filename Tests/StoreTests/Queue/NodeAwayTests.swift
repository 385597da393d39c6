import Foundation
import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store

/// A cluster has lost a node without a replica. Names that live elsewhere, with their partition, go on.
@Suite struct NodeAwayTests {
    private struct Fixture {
        let cluster: ClusterServers
        let redis: RedisClient
        let store: Store
        let app = try! AppKey("shop")
        /// The node that is killed. It has neither the first partition nor what belongs to the app.
        let node: RedisServer

        static func start() async throws -> Fixture {
            let cluster = try await ClusterServers.start()
            try await cluster.allowPartialCoverage()
            let redis = RedisClient(url: cluster.url, scripts: Store.scripts, logger: .quiet)
            let node = try #require(try await cluster.node(without: ["{q}", "{shop}"]))
            return Fixture(cluster: cluster, redis: redis, store: Store(redis: redis), node: node)
        }

        func lives(_ key: RedisKey) async throws -> Bool { try await cluster.primary(of: key.description) !== node }

        /// Names that live elsewhere, and as many on the node. Each of these is listed with one of the others.
        func names(_ count: Int) async throws -> (elsewhere: [ActivityName], there: [ActivityName]) {
            var found: (elsewhere: [ActivityName], there: [ActivityName]) = ([], [])
            var number = 0
            while found.elsewhere.count < count || found.there.count < count {
                let name = try ActivityName("match-\(number)")
                number += 1
                guard try await lives(store.keys.open(app, store.keys.partition(name))) else { continue }
                let isElsewhere = try await lives(store.keys.name(store.keys.tag(app, name)))
                let partitions = found.elsewhere.map(store.keys.partition)
                if isElsewhere {
                    if found.elsewhere.count < count { found.elsewhere.append(name) }
                } else if partitions.contains(store.keys.partition(name)) {
                    found.there.append(name)
                }
            }
            return (found.elsewhere, Array(found.there.prefix(count)))
        }

        func bounds(_ perApp: Int) -> QueueBounds { QueueBounds(apps: [app], perApp: perApp, total: 100_000) }

        func publish(_ name: ActivityName, _ bounds: QueueBounds? = nil) async throws(StoreError) -> Acceptance {
            try await store.pushes.accept(
                app, Publish(name: name, event: .update, audience: .all, alert: RawJSON(checked: "{}")),
                id: store.pushes.freshIDs(app, count: 1)[0], payload: Array(#"{"aps":{"timestamp":0000000000}}"#.utf8),
                timestampOffset: 20, bounds: bounds)
        }

        /// Kills the node, and waits until the client knows.
        func kill(_ name: ActivityName) async throws {
            node.signal(SIGKILL)
            let key = store.keys.name(store.keys.tag(app, name))
            try await eventually("the node is known to be away") {
                _ = try? await redis.send(RedisCommand("EXISTS", [.key(key)]))
                return redis.isAway(key)
            }
        }

        func stop() async {
            await redis.close()
            cluster.stop()
        }
    }

    @Test func `publishes to names that live elsewhere are accepted`() async throws {
        let fixture = try await Fixture.start()
        let names = try await fixture.names(8)
        let bounds = fixture.bounds(1_000)
        for name in names.elsewhere + names.there { _ = try await fixture.publish(name, bounds) }
        try await fixture.kill(names.there[0])
        for name in names.elsewhere {
            for _ in 0..<3 {
                guard case .accepted = try await fixture.publish(name, bounds) else {
                    Issue.record("refused")
                    continue
                }
            }
        }
        // Nothing of a push whose name is away is committed, and the error says so.
        do throws(StoreError) {
            _ = try await fixture.publish(names.there[0])
            Issue.record("a name without its node")
        } catch {
            guard case .redis(.unreachable) = error else {
                Issue.record("\(error)")
                return await fixture.stop()
            }
        }
        // The bounds of the queues hold with the lengths that are known: each name has an entry.
        let narrow = fixture.bounds(4)
        for _ in 0..<4 { _ = try await fixture.publish(names.elsewhere[0], narrow) }
        guard case .refused(.queueFull(.app, _)) = try await fixture.publish(names.elsewhere[0], narrow) else {
            Issue.record("no bound")
            return await fixture.stop()
        }
        await fixture.stop()
    }

    @Test func `workers find the work of names that live elsewhere`() async throws {
        let fixture = try await Fixture.start()
        let (store, app, queue) = (fixture.store, fixture.app, fixture.store.queue)
        let names = try await fixture.names(6)
        for name in names.elsewhere + names.there { _ = try await fixture.publish(name) }
        try await fixture.kill(names.there[0])
        // A worker may start now.
        try await queue.prepare([app])
        let now = store.time.now()
        for name in names.elsewhere { try await queue.schedule(.retries(app, name, .high), due: now - 1_000) }
        #expect(try await queue.nextDue([app]).task == now - 1_000)
        #expect(try await queue.moveDue([app], now: now, limit: 100).moved == names.elsewhere.count)
        // It reads both entries of each name: that of the push, and that of the retries.
        var found: Set<ActivityName> = []
        for partition in store.keys.allPartitions {
            guard try await fixture.lives(store.keys.open(app, partition)) else { continue }
            let reader = store.reader(partition)
            let batch = try await reader.read(.namesHigh, [app], consumer: "w", count: 100, block: .milliseconds(1))
            found.formUnion(batch.entries.map(\.item.name))
            reader.close()
        }
        #expect(found.isSuperset(of: names.elsewhere))
        let claimed = try await queue.claim(.namesHigh, app, consumer: "v", idle: .zero, count: 1_000)
        #expect(Set(claimed.entries.map(\.item.name)).isSuperset(of: names.elsewhere))
        let reconciled = try await queue.reconcile([app], before: now + 60_000, now: now + 90_000, limit: 100)
        #expect(reconciled.woken == names.elsewhere.count)
        await fixture.stop()
    }

    @Test func `schedules of names that live elsewhere go out`() async throws {
        let fixture = try await Fixture.start()
        let (store, app) = (fixture.store, fixture.app)
        let names = try await fixture.names(6)
        let now = store.time.now()
        func schedule(_ name: ActivityName, lives: Bool) async throws -> Schedule {
            while true {
                let id = store.pushes.freshIDs(app, count: 1)[0]
                let isThere = try await fixture.lives(store.keys.schedule(app, id))
                guard try await fixture.lives(store.pushes.index.key(app, id)), isThere == lives else { continue }
                return Schedule(
                    id: id, publish: Publish(name: name, event: .update, audience: .all),
                    payload: Array(#"{"aps":{"timestamp":0000000000}}"#.utf8), timestampOffset: 20,
                    due: now - (lives ? 1_000 : 1_500), createdAt: now - 2_000, posted: Array("{}".utf8))
            }
        }
        var elsewhere: [Schedule] = []
        for name in names.elsewhere { elsewhere.append(try await schedule(name, lives: true)) }
        // The records of two are there, so the later one of their name must wait for them.
        let unreadable = try await schedule(names.elsewhere[0], lives: false)
        var renamed = try await schedule(names.elsewhere[1], lives: false)
        let there = try await schedule(names.there[0], lives: true)
        #expect(try await store.schedules.create(app, [unreadable, renamed, there] + elsewhere) != nil)
        renamed.publish.name = names.elsewhere[0]
        guard case .replaced = try await store.schedules.replace(app, renamed) else {
            Issue.record("it was not replaced")
            return await fixture.stop()
        }
        try await fixture.kill(names.there[0])
        func sent() async throws -> Set<PushID> {
            Set(try await store.schedules.runDue(app, limit: 100).filter { $0.outcome == .sent }.map(\.id))
        }
        #expect(try await sent() == Set(elsewhere.dropFirst().map(\.id)))
        let kept = try await store.redis.run("HKEYS", store.keys.scheduledNames(app)).strings()
        #expect(Set(kept) == Set([unreadable, renamed, there, elsewhere[0]].map(\.id.description)))
        await fixture.stop()
    }
}
