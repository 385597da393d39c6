import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store

/// A publish writes to the nodes of its id, of the streams and of its name. Each of them may refuse
/// while the others accept.
@Suite struct ClusterAcceptanceTests {
    @Test func `what one node refuses is committed on none`() async throws {
        let cluster = try await ClusterServers.start()
        let redis = RedisClient(url: cluster.url, scripts: Store.scripts, logger: .quiet)
        let store = Store(redis: redis)
        let app = try AppKey("shop")
        // Choose a name so that each part is on its own node.
        let streams = try await cluster.primary(of: Keyspace.queue.description)
        var name = try ActivityName("match")
        while try await cluster.primary(of: store.keys.tag(app, name)) === streams {
            name = try ActivityName("match-\(UInt16.random(in: 0...999))")
        }
        let names = try await cluster.primary(of: store.keys.name(store.keys.tag(app, name)).description)
        func freshID() async throws -> PushID {
            while true {
                let id = PushID.random()
                let node = try await cluster.primary(of: store.pushes.index.key(app, id).description)
                if node !== streams, node !== names { return id }
            }
        }
        func accept(_ id: PushID) async throws {
            _ = try await store.pushes.accept(
                app, Publish(name: name, event: .update, audience: .all, alert: RawJSON(checked: "{}")), id: id,
                payload: Array(#"{"aps":{"timestamp":0000000000}}"#.utf8), timestampOffset: 20)
        }
        let ids = [try await freshID(), try await freshID(), try await freshID(), try await freshID()]
        let indices = try await cluster.primary(of: store.pushes.index.key(app, ids[0]).description)
        for (id, node) in zip(ids, [streams, names, indices]) {
            let client = cluster.client(of: node)
            try await client.send(RedisCommand("CONFIG", ["SET", "maxmemory", "1"]))
            await #expect(throws: StoreError.self) { try await accept(id) }
            try await client.send(RedisCommand("CONFIG", ["SET", "maxmemory", "0"]))
        }
        // A publisher that got no 202 may publish again. Only the push that got a 202 exists.
        try await accept(ids[3])
        #expect(try await store.queue.firstUnswept(app, name)?.push == ids[3])
        let history = try await store.pushes.history(app, of: name, PushFilter(), after: nil, limit: 10)
        #expect(history.pushes.map(\.id) == [ids[3]])
        for id in ids.dropLast() { #expect(try await store.pushes.ledger(app, id) == nil) }
        await redis.close()
        cluster.stop()
    }
}
