import Redis
import TestSupport
import Testing

/// A single server that an operator makes a replica.
@Suite(.timeLimit(.minutes(2))) struct RoleTests {
    @Test func `a server that becomes a replica is left, also for reads, until it is a primary again`() async throws {
        let server = try await RedisServer.start(tcp: true)
        var options = RedisOptions()
        options.needsPrimary = true
        // With a second connection, a read could be the first command there, and be refused as the connection is made.
        let redis = RedisClient(url: server.tcpURL, connections: 1, options: options, logger: .quiet)
        let reader = RedisClient(url: server.tcpURL, logger: .quiet)
        func read(_ client: RedisClient) async throws(RedisError) -> RedisReply {
            try await client.send(RedisCommand("GET", ["a"]))
        }
        try await redis.send(RedisCommand("SET", ["a", "1"]))
        #expect(try server.command("REPLICAOF 127.0.0.1 \(try freePort())") == "+OK")
        try await eventually("reads are refused", within: .seconds(30)) {
            do throws(RedisError) { _ = try await read(redis) } catch {
                // The first ones may be lost with their connections.
                if case .server("READONLY", _) = error { return true }
            }
            return false
        }
        #expect(try await read(reader).string() == "1", "a client that may read from replicas goes on")
        #expect(try server.command("REPLICAOF NO ONE") == "+OK")
        try await eventually("the server is used again", errorsPass: true) { try await read(redis).string() == "1" }
        for client in [redis, reader] { await client.close() }
        server.stop()
    }

    @Test func `a server that waits is asked for its role once for each wait`() async throws {
        let server = try await RedisServer.start(tcp: true)
        var options = RedisOptions()
        options.needsPrimary = true
        let redis = RedisClient(url: server.tcpURL, connections: 1, options: options, logger: .quiet)
        let reader = RedisClient(url: server.tcpURL, logger: .quiet)
        try await redis.send(RedisCommand("SET", ["a", "1"]))
        try await eventually("it waits", within: .seconds(60)) { try await reader.calls(of: "wait") >= 1 }
        let first = ContinuousClock.now
        var waits = 0
        try await eventually("it has waited", within: .seconds(60)) {
            waits = try await reader.calls(of: "wait")
            return waits >= 2
        }
        #expect(ContinuousClock.now - first > .seconds(7), "ten seconds, but for a busy machine")
        // One more is of the greeting, and one may be on its way.
        #expect(try await reader.calls(of: "role") <= waits + 3)
        for client in [redis, reader] { await client.close() }
        server.stop()
    }
}
