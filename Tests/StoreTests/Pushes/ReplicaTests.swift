import Foundation
import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store

/// Tests acceptance that waits for a real replica.
@Suite struct ReplicaTests {
    @Test func `what is accepted is on the replica`() async throws {
        let pair = try await ReplicaPair.start()
        for number in 0..<20 {
            let id = try await pair.accept("match-\(number)")
            let name = pair.store.keys.name(pair.store.keys.tag(pair.app, try ActivityName("match-\(number)")))
            let lone = try await pair.replicaClient.send(RedisCommand("HGET", name, "lone")).string()
            #expect(lone.hasPrefix(id.description))
        }
        await pair.close()
    }

    @Test func `a replica that stands still is reported and delays nobody else`() async throws {
        let pair = try await ReplicaPair.start(timeout: .milliseconds(300))
        let before = PushID.random()
        // On a busy machine a healthy replica may be late at first.
        try await eventually("the replica keeps up") { await pair.error(accepting: before, "match-1") == nil }
        pair.replica.signal(SIGSTOP)
        let id = PushID.random()
        let outcomes = await withTaskGroup(of: StoreError?.self) { group in
            group.addTask { await pair.error(accepting: id, "match-2") }
            for number in 0..<40 { group.addTask { await pair.error(accepting: .random(), "other-\(number)") } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.allSatisfy { $0 == .unreplicated(replicas: 0, of: 1) })
        // The push was committed anyway and may be sent. A publisher that repeats it gets the same push.
        #expect(try await pair.store.pushes.ledger(pair.app, id)?.state == .queued)
        #expect(try await pair.store.pushes.ledger(pair.app, before) != nil)
        pair.replica.signal(SIGCONT)
        try await eventually("the replica answers again") { await pair.error(accepting: id, "match-2") == nil }
        await pair.close()
    }

    /// A failover would lose what only the old primary has.
    @Test func `a cancel is answered when a replica has it`() async throws {
        let pair = try await ReplicaPair.start(timeout: .milliseconds(300))
        let (kept, lost) = (PushID.random(), PushID.random())
        for (id, name) in [(kept, "match-1"), (lost, "match-2")] {
            try await eventually("the replica keeps up") { await pair.error(accepting: id, name) == nil }
        }
        #expect(try await pair.store.pushes.cancel(pair.app, kept)?.state == .cancelled)
        pair.replica.signal(SIGSTOP)
        await #expect(throws: StoreError.unreplicated(replicas: 0, of: 1)) {
            try await pair.store.pushes.cancel(pair.app, lost)
        }
        pair.replica.signal(SIGCONT)
        #expect(try await pair.store.pushes.cancel(pair.app, lost)?.state == .cancelled)
        await pair.close()
    }

    /// A publish writes to the nodes of its name, of its id and of the streams. Each node has its own replica.
    @Test func `in a cluster every node of a publish is asked`() async throws {
        let cluster = try await ClusterServers.start(replicated: true)
        let redis = RedisClient(url: cluster.url, scripts: Store.scripts, logger: .quiet)
        let store = Store(redis: redis, replicas: ReplicaPolicy(replicas: 1, timeout: .seconds(4)))
        let app = try AppKey("shop")
        func accept(_ name: String, _ id: PushID = .random()) async throws {
            _ = try await store.pushes.accept(
                app, Publish(name: try ActivityName(name), event: .update, audience: .all), id: id,
                payload: Array(#"{"aps":{"timestamp":0000000000}}"#.utf8), timestampOffset: 20)
        }
        /// The node of the name's streams.
        func queue(_ name: String) async throws -> RedisServer {
            try await cluster.primary(of: store.keys.partition(try ActivityName(name)).tag)
        }
        var elsewhere = "match-0"
        for number in 0..<100 where try await cluster.primary(of: "{shop:\(elsewhere)}") === queue(elsewhere) {
            elsewhere = "match-\(number)"
        }
        try await accept(elsewhere)
        let node = try await queue(elsewhere)
        let replica = cluster.replicas[try #require(cluster.primaries.firstIndex { $0 === node })]
        replica.signal(SIGSTOP)
        let id = PushID.random()
        await #expect(throws: StoreError.unreplicated(replicas: 0, of: 1)) { try await accept(elsewhere, id) }
        replica.signal(SIGCONT)
        try await eventually("the replica answers again") {
            do {
                try await accept(elsewhere, id)
                return true
            } catch StoreError.unreplicated {
                return false
            }
        }
        let due = store.time.now() + 3_600_000
        let schedules = try (0..<8).map { number in
            Schedule(
                id: .random(), publish: Publish(name: try ActivityName("n-\(number)"), event: .update, audience: .all),
                payload: [], timestampOffset: 0, due: due, createdAt: 0)
        }
        #expect(try await store.schedules.create(app, schedules) != nil)
        #expect(try await store.schedules.list(app, start: nil, limit: 10).total == 8)
        await redis.close()
    }

    @Test func `without a replica nothing is confirmed`() async throws {
        let server = try await RedisServer.start()
        let redis = RedisClient(url: server.url, scripts: Store.scripts, logger: .quiet)
        let store = Store(redis: redis, replicas: ReplicaPolicy(replicas: 1, timeout: .milliseconds(20)))
        let wait = try #require(store.pushes.replicas)
        try await redis.send(RedisCommand("SET", ["there", "1"]))
        await #expect(throws: StoreError.unreplicated(replicas: 0, of: 1)) {
            try await wait.confirm(push: RedisKey("there"), life: 60_000)
        }
        let lost = StoreError.redis(.lost("another server answers, without the push"))
        await #expect(throws: lost) { try await wait.confirm(push: RedisKey("not there"), life: 60_000) }
        // A lone push is in its name's hash. Another push there proves nothing.
        let (name, id) = (RedisKey("name"), PushID.random())
        try await redis.send(
            RedisCommand("HSET", name, "lone", .string("\(id) 1 1 10 1 1 1 - - - - - -\n\n{}")))
        for (push, error) in [(id, StoreError.unreplicated(replicas: 0, of: 1)), (.random(), lost)] {
            await #expect(throws: error) {
                try await wait.confirm(
                    push: RedisKey("not there"), life: 60_000, small: (push, name, 60_000, RedisKey("block")))
            }
        }
        server.stop()
        await #expect(throws: StoreError.unreplicated(replicas: 0, of: 1)) {
            try await wait.confirm(push: RedisKey("there"), life: 60_000)
        }
        await redis.close()
    }
}

/// A primary and its replica over loopback TCP, because replication does not work over unix sockets.
private struct ReplicaPair {
    let primary: RedisServer
    let replica: RedisServer
    let replicaClient: RedisClient
    let redis: RedisClient
    let store: Store
    let app = try! AppKey("shop")

    static func start(timeout: Duration = .seconds(4)) async throws -> ReplicaPair {
        let primary = try await RedisServer.start(tcp: true, extra: ["--repl-diskless-sync-delay", "0"])
        let replica = try await RedisServer.start(
            tcp: true, extra: ["--replicaof", "127.0.0.1", "\(try #require(primary.port))"])
        let redis = RedisClient(url: primary.url, scripts: Store.scripts, logger: .quiet)
        let pair = ReplicaPair(
            primary: primary, replica: replica, replicaClient: RedisClient(url: replica.url, logger: .quiet),
            redis: redis, store: Store(redis: redis, replicas: ReplicaPolicy(replicas: 1, timeout: timeout)))
        // Wait for the first synchronisation.
        var count = 0
        for _ in 0..<10 where count == 0 {
            count = try await redis.pipeline([
                RedisCommand("SET", ["ready", "1"]), RedisCommand("WAIT", ["1", "4000"]),
            ])[1].integer()
        }
        #expect(count == 1)
        // As each process does before it works: pushes may be lone.
        try await pair.store.claimFormat()
        return pair
    }

    func accept(_ name: String, id: PushID = .random()) async throws -> PushID {
        let acceptance = try await acceptance(name, id)
        guard case .accepted(let id, _, _) = acceptance else { throw Unexpected(what: "\(acceptance)") }
        return id
    }

    func error(accepting id: PushID, _ name: String) async -> StoreError? {
        do throws(StoreError) {
            _ = try await acceptance(name, id)
            return nil
        } catch {
            return error
        }
    }

    private func acceptance(_ name: String, _ id: PushID) async throws(StoreError) -> Acceptance {
        guard let name = try? ActivityName(name) else { throw .corrupt("name") }
        return try await store.pushes.accept(
            app, Publish(name: name, event: .update, audience: .all), id: id,
            payload: Array(#"{"aps":{"timestamp":0000000000}}"#.utf8), timestampOffset: 20)
    }

    func close() async {
        await redis.close()
        await replicaClient.close()
        replica.stop()
        primary.stop()
    }
}
