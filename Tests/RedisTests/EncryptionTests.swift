import Foundation
import Redis
import TestSupport
import Testing

/// Tests Redis over TLS. Everything that works without TLS works with it.
@Suite struct EncryptionTests {
    private func client(_ redis: EncryptedRedis, host: String = "127.0.0.1", connections: Int = 1) throws -> RedisClient
    {
        RedisClient(url: try redis.url(host), connections: connections, options: redis.options(), logger: .quiet)
    }

    @Test(arguments: ["127.0.0.1", "localhost"])
    func `a server is reached by address and by name`(host: String) async throws {
        let server = try await EncryptedRedis.start()
        let redis = try client(server, host: host)
        #expect(redis.encryption == nil)
        try await redis.send(RedisCommand("SET", ["a", "1"]))
        #expect(try await redis.send(RedisCommand("GET", ["a"])).string() == "1")
        #expect(redis.encryption == "TLS 1.3")
        await redis.close()
        let plain = RedisClient(url: server.server.url, logger: .quiet)
        #expect(try await plain.send(RedisCommand("GET", ["a"])).string() == "1")
        #expect(plain.encryption == nil)
        await plain.close()
    }

    @Test func `TLS 12 is spoken too`() async throws {
        let server = try await EncryptedRedis.start(extra: ["--tls-protocols", "TLSv1.2"])
        let redis = try client(server)
        let large = [UInt8](repeating: 0x5A, count: 3 << 20)
        try await redis.send(RedisCommand("SET", ["large", .bytes(large)]))
        #expect(try await Array(redis.send(RedisCommand("GET", ["large"])).bytes()) == large)
        #expect(redis.encryption == "TLS 1.2")
        await redis.close()
    }

    /// The data is more than sockets and OpenSSL accept at once, in both directions at the same time.
    @Test func `large pipelines and replies`() async throws {
        let server = try await EncryptedRedis.start()
        let redis = try client(server)
        let large = (0..<(8 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<4 {
                group.addTask {
                    let key = RedisArgument("large\(task)")
                    let replies = try await redis.pipeline([
                        RedisCommand("SET", [key, .bytes(large)]), RedisCommand("GET", [key]),
                        RedisCommand("APPEND", [key, .bytes(large)]), RedisCommand("GET", [key]),
                    ])
                    #expect(try Array(replies[1].bytes()) == large)
                    #expect(try Array(replies[3].bytes()) == large + large)
                }
            }
            group.addTask {
                let count = 100_000
                let replies = try await redis.pipeline((0..<count).map { RedisCommand("ECHO", [.int($0)]) })
                for index in 0..<count { #expect(try replies[index].integer() == index) }
            }
            try await group.waitForAll()
        }
        await redis.close()
    }

    /// Records come in pieces, and one read may return several. None is lost, whatever the pieces are.
    @Test(arguments: [1, 7, 1_000]) func `records in pieces`(size: Int) async throws {
        let server = try await EncryptedRedis.start()
        let relay = try Relay(to: server.port, pieces: size)
        defer { relay.stop() }
        let redis = RedisClient(
            url: try RedisURL("rediss://127.0.0.1:\(relay.port)"), connections: 1, options: server.options(),
            logger: .quiet)
        let text = String(repeating: "lamplighter ", count: 100)
        for count in [1, 2, 50] {
            let replies = try await redis.pipeline((0..<count).map { RedisCommand("ECHO", [.string("\($0)" + text)]) })
            for index in 0..<count { #expect(try replies[index].string() == "\(index)" + text) }
        }
        await redis.close()
    }

    /// The peer changes keys with a request (K) or without (k), or makes a second handshake in TLS 1.2 (r),
    /// between two replies.
    @Test(arguments: [("-tls1_3", "K"), ("-tls1_3", "k"), ("-tls1_2", "r")])
    func `new keys on a connection that stands`(version: String, letter: String) async throws {
        let peer = try await TLSPeer.start([version])
        var options = RedisOptions()
        options.tls.roots = peer.authority.caFile
        // The test types the peer's answers, which takes a while on a slow machine.
        options.connectTimeout = .seconds(60)
        options.commandTimeout = .seconds(60)
        let redis = RedisClient(
            url: try RedisURL("rediss://localhost:\(peer.port)"), connections: 1, options: options, logger: .quiet)
        async let first = redis.send(RedisCommand("ECHO", ["first"]))
        try await peer.waitFor("SETNAME")
        peer.type("+OK\n:1")
        try await peer.waitFor("first")
        peer.type(letter)
        try await peer.waitFor("SSL_do_handshake -> 1")
        peer.type("+one")
        #expect(try await first.string() == "one")
        for round in 2...3 {
            async let next = redis.send(RedisCommand("ECHO", ["round \(round)"]))
            try await peer.waitFor("round \(round)")
            peer.type(letter)
            try await peer.waitFor("SSL_do_handshake -> 1", times: round)
            peer.type("+\(round)")
            #expect(try await next.integer() == round)
        }
        await redis.close()
    }

    @Test func `a server that is killed is found again`() async throws {
        let server = try await EncryptedRedis.start(append: true)
        let redis = try client(server, connections: 2)
        for round in 1...3 {
            try await redis.send(RedisCommand("INCR", ["n"]))
            server.server.signal(SIGKILL)
            try await server.server.restart()
            try await eventually("Redis answers", errorsPass: true) { try await redis.answers }
            #expect(try await redis.send(RedisCommand("GET", ["n"])).integer() == round)
        }
        await redis.close()
    }

    @Test func `a connection that the server closes is told as such`() async throws {
        let server = try await EncryptedRedis.start()
        var options = server.options()
        options.commandTimeout = .seconds(600)
        let redis = RedisClient(url: try server.url("127.0.0.1"), connections: 1, options: options, logger: .quiet)
        let operator_ = RedisClient(url: server.server.url, connections: 1, logger: .quiet)
        let id = try await redis.send(RedisCommand("CLIENT", ["ID"])).integer()
        _ = try await redis.send(RedisCommand("XGROUP", ["CREATE", "s", "g", "$", "MKSTREAM"]))
        async let reply = redis.send(
            RedisCommand("XREADGROUP", ["GROUP", "g", "c", "BLOCK", 600_000, "STREAMS", "s", ">"]))
        try await operator_.untilBlocked()
        _ = try await operator_.send(RedisCommand("CLIENT", ["KILL", "ID", .int(id)]))
        do {
            _ = try await reply
            Issue.record("a reply from a closed connection")
        } catch RedisError.lost(let why) {
            #expect(why.contains("the server closed the connection"), "\(why)")
        }
        try await redis.ping()
        await redis.close()
        await operator_.close()
    }

    @Test func `a blocked read wakes and is interrupted`() async throws {
        let server = try await EncryptedRedis.start()
        let redis = try client(server)
        _ = try await redis.send(RedisCommand("XGROUP", ["CREATE", "s", "g", "$", "MKSTREAM"]))
        let connection = redis.blockingConnection()
        let read = RedisCommand("XREADGROUP", ["GROUP", "g", "c", "BLOCK", 600_000, "STREAMS", "s", ">"])
        async let first = connection.send(read, blockingFor: .seconds(600))
        try await redis.untilBlocked()
        try await redis.send(RedisCommand("XADD", ["s", "1-1", "f", "v"]))
        #expect(try await first[0][1][0][0].string() == "1-1")
        async let second = connection.send(read, blockingFor: .seconds(600))
        try await redis.untilBlocked()
        await connection.interrupt()
        #expect(try await second.isNil)
        connection.close()
        await redis.close()
    }

    /// Sentinel and both servers use TLS. The sentinel names the primary by its IP address, and the certificate is
    /// checked against that.
    @Test func `sentinels and the primary they name`() async throws {
        let authority = try TestAuthority()
        let first = try await EncryptedRedis.start(authority)
        let second = try await EncryptedRedis.start(authority, extra: ["--replicaof", "127.0.0.1", "\(first.port)"])
        let port = try freePort()
        let sentinel = try await SentinelServer.start(
            watching: first.port,
            extra: ["tls-port \(port)"] + EncryptedRedis.options(authority, try authority.issue("sentinel")))
        let url = try RedisURL("rediss+sentinel://localhost:\(port)/\(SentinelServer.primary)/2")
        let redis = RedisClient(url: url, options: first.options(), logger: .quiet)
        func tlsPort() async throws -> Int { Int(try await redis.configValue("tls-port") ?? "") ?? 0 }
        try await redis.send(RedisCommand("SET", ["before", "1"]))
        #expect(try await tlsPort() == first.port)
        try await eventually("the replica has it") {
            try await redis.send(RedisCommand("WAIT", [1, 10])).integer() == 1
        }
        try await sentinel.failOver()
        try await eventually("the other server takes writes", within: .seconds(60)) {
            guard (try? await redis.send(RedisCommand("SET", ["after", "1"]))) != nil else { return false }
            return (try? await tlsPort()) == second.port
        }
        await redis.close()
        let other = try TestAuthority()
        defer { withExtendedLifetime(other) {} }
        let stranger = RedisClient(url: url, options: first.options(roots: other.caFile), logger: .quiet)
        let error = await #expect(throws: RedisError.self) { try await stranger.ping() }
        guard case .insecure(let why, _) = error else {
            Issue.record("\(error as Any)")
            return
        }
        #expect(why.contains("sentinel localhost:\(port): the server's certificate"), "\(why)")
        await stranger.close()
    }
}
