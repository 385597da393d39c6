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

/// A cluster has lost a node without a replica. Workers that ran before, and one that starts now, serve the others.
@Suite struct NodeAwayTests {
    @Test func `workers serve names that live elsewhere, with their retries`() async throws {
        let cluster = try await ClusterServers.start()
        try await cluster.allowPartialCoverage()
        let store = Store(redis: RedisClient(url: cluster.url, scripts: Store.scripts, logger: .quiet))
        let fixture = WorkerFixture(server: cluster.primaries[0], store: store)
        let node = try #require(try await cluster.node(without: ["{q}", "{shop}"]))
        let (keys, app) = (store.keys, fixture.app)
        var names: [ActivityName] = []
        var number = 0
        while names.count < 6 {
            number += 1
            let name = try ActivityName("match-\(number)")
            let needed = [keys.open(app, keys.partition(name)), keys.name(keys.tag(app, name))]
            var lives = true
            for key in needed where try await cluster.primary(of: key.description) === node { lives = false }
            guard lives else { continue }
            names.append(name)
            let registration = Registration(
                channel: .random(), token: try #require(WorkerFixture.token(number)),
                registeredAt: nowMilliseconds() - 60_000)
            _ = try await store.registry.track(app, .activity(name), [registration])
        }
        // Each token is busy once, so each push needs a timer.
        let transport = ScriptedTransport { _, attempt in
            attempt % 2 == 1 ? WaitingTests.busy(retryAfter: nil) : .accepted
        }
        let all = names
        @Sendable func publishToAll() async throws {
            for name in all {
                let id = store.pushes.freshIDs(app, count: 1)[0]
                let ledger = try await fixture.finished(try await fixture.publish(id: id, to: name))
                #expect(ledger.delivered == 1 && ledger.retries == 1)
            }
        }
        try await fixture.withWorker(transport) {
            try await publishToAll()
            node.signal(SIGKILL)
            try await eventually("the node is known to be away") {
                let key = (0..<1_000).lazy.map { RedisKey("{\($0)}") }.first { store.redis.isAway($0) }
                return key != nil
            }
            try await publishToAll()
        }
        try await fixture.withWorker(transport) { try await publishToAll() }
        await store.redis.close()
        cluster.stop()
    }
}
