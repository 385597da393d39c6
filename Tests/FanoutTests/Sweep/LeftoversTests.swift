import APNsWire
import Delivery
import Foundation
import LiveActivity
import Redis
import ServiceLifecycle
import TestSupport
import Testing

@testable import Fanout
@testable import Store

/// Tests that work which a settled page leaves is done, under whichever entry the page was sent and
/// whichever worker died.
@Suite struct LeftoversTests {
    @Test func `a push begun under anothers entry has its retries too`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<20)
        let transport = ScriptedTransport { token, attempt in
            // APNs refuses each push's first attempt at each token.
            attempt % 2 == 1 ? .rejected(Rejection(status: 429, reason: .known(.tooManyRequests))) : .accepted
        }
        // Both pushes wait before a worker starts. The older push begins first, whichever entry is read first.
        let first = try await fixture.publish()
        let second = try await fixture.publish()
        let third = try await fixture.publish()
        try await fixture.withWorker(transport) {
            for id in [first, second, third] {
                let ledger = try await fixture.finished(id)
                #expect(ledger.state == .done && ledger.delivered == 20 && ledger.targets == 20)
            }
        }
    }

    @Test func `pending removals of a dead worker are applied after a retry`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.track(0..<2)
        let id = try await fixture.publish()
        let sweeps = fixture.store.sweeps
        // A worker swept, settled one of two retries as dead, and died before it pruned that token.
        let claim = try await fixture.claimed(id)
        var page = Settlement(range: claim.lease.bounds)
        page.targets = 2
        for channel in channels { page.retry(channel.stored, due: nowMilliseconds(), attempts: 1) }
        _ = try await sweeps.settle(claim.lease, for: .seconds(10), page)
        guard
            case .claimed(let lease, _, _) = try await sweeps.claimRetries(
                fixture.app, fixture.name, owner: "dead", lease: .zero)
        else { throw WorkerFixtureError(description: "retries not claimed") }
        let due = try await sweeps.dueChannels(
            lease, fixture.store.tokens, now: nowMilliseconds(), limit: 10
        ).filter { $0.channel == channels[0].stored }
        var dead = RetrySettlement()
        dead.remove(
            try #require(due.first), TokenRemoval(channel: channels[0].stored, token: [0, 0, 0, 0], deadSince: nil))
        _ = try await sweeps.settle(lease, for: .zero, dead)
        try await fixture.store.queue.schedule(.retries(fixture.app, fixture.name, .high), due: nowMilliseconds())

        let ledger = try await fixture.withWorker(ScriptedTransport()) { try await fixture.finished(id) }
        #expect(ledger.state == .done && ledger.delivered == 1 && ledger.pruned == 1)
    }

    @Test func `a shard of low priority is claimed although there is one permit for it`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<4_000)
        let id = try await fixture.publish(priority: .low)
        let transport = ScriptedTransport()
        let reader = fixture.reader()
        // One worker plans the push and dies, and another one reads a shard and dies.
        try await fixture.store.queue.prepare([fixture.app])
        let (begun, _) = try await fixture.store.sweeps.begin(
            fixture.app, fixture.name, expecting: id, owner: "dead", lease: .zero)
        guard case .plan(_, let shards) = begun else { throw WorkerFixtureError(description: "\(begun)") }
        try await fixture.store.queue.add(
            shards.map { part in
                WorkItem(app: fixture.app, name: fixture.name, push: id, priority: .low, part: part)
            })
        try await fixture.store.sweeps.markPlanned(fixture.app, fixture.name, id)
        let (read, _) = try await reader.read(.shardsLow, [fixture.app], consumer: "dead", count: 1, block: .seconds(1))
        #expect(read.count == 1)
        reader.close()
        try await fixture.ageEntries(.shardsLow)
        let ledger = try await fixture.withWorker(transport) { try await fixture.finished(id) }
        #expect(ledger.state == .done && ledger.delivered == 4_000)
    }

    /// The streams have lost writes, as after a failover.
    @Test func `shards whose entries were lost are put back while another push has entries`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<4_000)
        try await fixture.store.queue.prepare([fixture.app])
        let id = try await fixture.publish()
        let (begun, _) = try await fixture.store.sweeps.begin(
            fixture.app, fixture.name, expecting: id, owner: "dead", lease: .zero)
        guard case .plan(_, let shards) = begun else { throw WorkerFixtureError(description: "\(begun)") }
        func shard(_ index: Int, _ name: ActivityName, _ push: PushID) -> WorkItem {
            WorkItem(
                app: fixture.app, name: name, push: push, priority: .high,
                part: .shard(index: index, count: shards.count))
        }
        // Its first shard has an entry and the others have none. Another push has an entry that a worker keeps.
        // In a cluster both names' work must be in one partition.
        let others = try (2..<100).map { try ActivityName("match-\($0)") }
        let name = try #require(others.first { fixture.store.keys.partition($0) == fixture.partition })
        let other = shard(1, name, .random())
        try await fixture.store.queue.add([other, shard(0, fixture.name, id)])
        try await fixture.store.sweeps.markPlanned(fixture.app, fixture.name, id)
        let reader = fixture.reader()
        let (read, _) = try await reader.read(
            .shardsHigh, [fixture.app], consumer: "busy", count: 1, block: .seconds(1))
        #expect(read.map(\.item) == [other])
        reader.close()
        let lost = try await fixture.store.sweeps.unfinishedShards(fixture.app, fixture.name, id)
        #expect(lost.count == shards.count)
        try await fixture.store.queue.add([
            WorkItem(app: fixture.app, name: fixture.name, push: id, priority: .high, part: .reconcile)
        ])
        let ledger = try await fixture.withWorker(ScriptedTransport(), claimAfter: .seconds(600)) {
            try await fixture.finished(id)
        }
        #expect(ledger.state == .done && ledger.delivered == 4_000)
    }

    /// A worker must not repeat at full speed what cannot succeed, and the next worker must claim what it leaves.
    @Test(.timeLimit(.minutes(5))) func `a registry that cannot be read holds neither a worker nor its end`()
        async throws
    {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<5)
        let root = fixture.key(Keyspace.root)
        let id = try await fixture.publish()
        try await fixture.store.redis.send(RedisCommand("HSET", root, "n", "garbage"))
        let epoch = RedisCommand("HGET", fixture.tasks(id), "0/1:e")
        let other = try ActivityName("match-2")
        for times in 1...3 {
            // Only `endLease` ends the lease that the worker leaves.
            try await fixture.withWorker(ScriptedTransport(), claimAfter: .seconds(600)) {
                try await eventually("it is begun again") {
                    let begun = try await fixture.store.redis.send(epoch)
                    return try !begun.isNil && begun.integer() >= times
                }
                // At full speed it would be begun again while these pushes are sent.
                for _ in 0..<5 { _ = try await fixture.finished(try await fixture.publish(to: other)) }
            }
            #expect(try await fixture.store.redis.send(epoch).integer() == times)
            try await fixture.endLease(id)
            try await fixture.ageEntries(.namesHigh)
        }
        try await fixture.store.redis.send(RedisCommand("HDEL", root, "n"))
        let ledger = try await fixture.withWorker(ScriptedTransport()) { try await fixture.finished(id) }
        #expect(ledger.delivered == 5)
    }

    @Test(.timeLimit(.minutes(5))) func `a worker that is cancelled ends too`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<10)
        let transport = ScriptedTransport()
        let group = fixture.group(transport)
        let running = Task { try await group.run() }
        _ = try await fixture.finished(try await fixture.publish())
        running.cancel()
        _ = await running.result
    }

    @Test func `asked to stop a worker keeps the leases of what it took over`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<50)
        try await fixture.store.queue.prepare([fixture.app])
        let id = try await fixture.publish()
        let reader = fixture.reader()
        _ = try await reader.read(.namesHigh, [fixture.app], consumer: "dead", count: 1, block: .seconds(1))
        reader.close()
        try await fixture.ageEntries(.namesHigh)
        let transport = ScriptedTransport()
        transport.hold()
        let group = fixture.group(transport, claimAfter: .seconds(6))
        async let running: Void = group.run()
        await transport.holding(pages: 1)
        await group.triggerGracefulShutdown()
        let deadline = RedisCommand("HGET", fixture.tasks(id), "0/1:d")
        for _ in 0..<2 {
            try await fixture.endLease(id)
            try await eventually("the lease is renewed") {
                try await fixture.store.redis.send(deadline).integer() > fixture.store.time.now()
            }
        }
        transport.letGo()
        try await running
        let ledger = try #require(try await fixture.store.pushes.ledger(fixture.app, id))
        #expect(ledger.state == .done && ledger.delivered == 50, "what was sent is settled by whoever sent it")
    }
}
