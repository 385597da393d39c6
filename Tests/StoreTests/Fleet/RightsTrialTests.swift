import Foundation
import Logging
import Redis
import TestSupport
import Testing

@testable import Store

@Suite struct RightsTrialTests {
    /// Commands of a connection, of a cluster, or that processes do without.
    private static let others: Set = [
        "AUTH", "SELECT", "ASKING", "CLUSTER", "CONFIG", "ROLE", "SENTINEL", "WAIT", "SCRIPT", "EVAL", "EXEC", "MULTI",
        "XREADGROUP",
    ]

    /// So that a command that a later version sends is tried too.
    @Test func `each command in the sources is tried`() throws {
        let redis = RedisClient(url: try RedisURL("unix:///nowhere"), logger: .quiet)
        let trial = RightsTrial(redis: redis, keys: Keyspace(), id: "x")
        let tried = Set(trial.steps(.first).map(\.command.name)).union(Self.others)
        let sources = Repository.root.appendingPathComponent("Sources")
        let files = FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)
        var sent: Set<String> = []
        while let file = files?.nextObject() as? URL {
            guard ["swift", "lua"].contains(file.pathExtension) else { continue }
            let text = try String(contentsOf: file, encoding: .utf8)
            let uses = text.matches(of: /(?:RedisCommand\(\s*"|\.run\(\s*"|\bp?call\(')([A-Z]+)["']/)
            sent.formUnion(uses.map { String($0.output.1) })
        }
        #expect(sent.count > 50)
        #expect(sent.subtracting(tried).sorted() == [])
    }

    @Test func `a server that does all leaves nothing to say and nothing behind`() async throws {
        let server = try await RedisServer.start()
        let redis = RedisClient(url: server.url, scripts: Store.scripts, logger: .quiet)
        #expect(await Store(redis: redis).refusals() == [])
        for (_, replies) in try await redis.onEachPrimary([RedisCommand("KEYS", ["*"])]) {
            for key in try replies[0].array() {
                let name = try key.string()
                let left = try await redis.send(RedisCommand("PTTL", [.string(name)])).integer()
                #expect((1...60_000).contains(left), "\(name)")
            }
        }
        await redis.close()
    }

    @Test(arguments: [
        ("-@transaction", "MULTI with EXEC", "+@transaction"), ("-evalsha", "EVALSHA", "+@scripting"),
        ("-time", "TIME", "+time"), ("-xautoclaim", "XAUTOCLAIM", "+@write"), ("resetkeys", "GET", "~ll:*"),
        ("-xreadgroup", "XREADGROUP with BLOCK", "+@write"), ("-zrange", "ZRANGE", "+@read"),
    ])
    func `a right that is missing is named with its rule`(rule: String, command: String, right: String) async throws {
        let server = try await RedisServer.start(
            tcp: true, extra: ["--user", "lamp", "on", ">secret", "~*", "+@all", rule])
        let url = try RedisURL("unix://lamp:secret@\(server.socketPath)")
        let redis = RedisClient(url: url, scripts: Store.scripts, logger: .quiet)
        let refusals = await Store(redis: redis).refusals()
        let found = refusals.first { $0.command == command }
        #expect(found?.right == right && found?.isNeeded == true, "\(refusals)")
        // Commands that fail because of a refused one are not blamed.
        #expect(refusals.filter { !$0.error.isRefusal } == [], "\(refusals)")
        await redis.close()
    }

    /// Each node has rights of its own.
    @Test func `each node of a cluster is tried`() async throws {
        let cluster = try await ClusterServers.start()
        let redis = RedisClient(url: cluster.url, scripts: Store.scripts, logger: .quiet)
        let store = Store(redis: redis)
        #expect(await store.refusals() == [])
        for node in cluster.primaries {
            let admin = cluster.client(of: node)
            try await admin.send(RedisCommand("ACL", ["SETUSER", "default", "-multi"]))
            #expect(await store.refusals().map(\.command) == ["MULTI with EXEC"])
            try await admin.send(RedisCommand("ACL", ["SETUSER", "default", "+multi"]))
        }
        await redis.close()
    }

    /// A full server is not refused: a later start would meet it too, and old data is still sent.
    @Test func `a server that is full refuses no right`() async throws {
        let server = try await RedisServer.start(extra: ["--maxmemory", "1", "--maxmemory-policy", "noeviction"])
        let redis = RedisClient(url: server.url, scripts: Store.scripts, logger: .quiet)
        #expect(await Store(redis: redis).refusals() == [])
        await redis.close()
    }
}
