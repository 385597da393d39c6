import Foundation
import Redis
import TestSupport
import Testing

/// Tests real sentinels. The client goes to the primary that they name, and follows a change.
@Suite struct SentinelTests {
    @Test func `the client finds the primary and follows a failover`() async throws {
        let pair = try await SentinelPair()
        let redis = RedisClient(url: try pair.url(), logger: .quiet)
        try await redis.send(RedisCommand("SET", ["before", "1"]))
        #expect(try await pair.port(redis) == pair.first.port)
        try await eventually("the replica has it") {
            try await redis.send(RedisCommand("WAIT", [1, 10])).integer() == 1
        }
        try await pair.sentinel.failOver()
        try await eventually("the other server takes writes") {
            // The old primary may take the write, and cut the connection when it becomes a replica.
            guard (try? await redis.send(RedisCommand("SET", ["after", "1"]))) != nil else { return false }
            return (try? await pair.port(redis)) == pair.second.port
        }
        #expect(try await redis.send(RedisCommand("GET", ["before"])).string() == "1")
        await redis.close()
    }

    @Test func `a primary that is killed is replaced`() async throws {
        let pair = try await SentinelPair()
        let redis = RedisClient(url: try pair.url(), logger: .quiet)
        try await pair.settle(redis)
        pair.first.signal(SIGKILL)
        try await eventually("the other server takes writes") {
            (try? await redis.send(RedisCommand("SET", ["after", "1"]))) != nil
        }
        #expect(try await pair.port(redis) == pair.second.port)
        await redis.close()
    }

    /// Behind the address of a hosted service, another server may have become the primary. Only a new
    /// connection reaches it.
    @Test func `a connection to a server that became a replica is left`() async throws {
        let server = try await RedisServer.start(tcp: true)
        let redis = RedisClient(url: server.tcpURL, connections: 1, logger: .quiet)
        let before = try await redis.send(RedisCommand("CLIENT", ["ID"])).integer()
        _ = try server.command("REPLICAOF 127.0.0.1 \(try freePort())")
        await #expect(
            throws: RedisError.server(
                code: "READONLY", message: "READONLY You can't write against a read only replica.")
        ) {
            try await redis.send(RedisCommand("SET", ["a", "1"]))
        }
        #expect(try await redis.send(RedisCommand("CLIENT", ["ID"])).integer() != before)
        _ = try server.command("REPLICAOF NO ONE")
        try await redis.send(RedisCommand("SET", ["a", "1"]))
        await redis.close()
    }

    @Test func `passwords of both are their own`() async throws {
        let pair = try await SentinelPair(password: "redis-secret", sentinelPassword: "watch-secret")
        let text =
            "redis+sentinel://:redis-secret@127.0.0.1:\(pair.sentinel.port)/\(SentinelServer.primary)/2"
        let redis = RedisClient(url: try RedisURL(text + "?sentinel_password=watch-secret"), logger: .quiet)
        try await redis.ping()
        await redis.close()
        let without = RedisClient(url: try RedisURL(text), logger: .quiet)
        let error = await #expect(throws: RedisError.self) { try await without.ping() }
        #expect(error?.description.contains("NOAUTH") == true, "\(error?.description ?? "")")
        #expect(error?.description.contains("secret") == false)
        await without.close()
    }

    @Test func `each sentinel is asked and a wrong name is told`() async throws {
        let pair = try await SentinelPair()
        let dead = try freePort()
        let list = "redis+sentinel://127.0.0.1:\(dead),127.0.0.1:\(pair.sentinel.port)/"
        let redis = RedisClient(url: try RedisURL(list + SentinelServer.primary), logger: .quiet)
        try await redis.ping()
        await redis.close()
        let wrong = RedisClient(url: try RedisURL(list + "other"), logger: .quiet)
        let error = await #expect(throws: RedisError.self) { try await wrong.ping() }
        let words = error?.description ?? ""
        #expect(words.contains("knows no primary called other") && words.contains("127.0.0.1:\(dead)"), "\(words)")
        await wrong.close()
    }
}
