import TestSupport
import Testing

@testable import Redis

@Suite struct BlockingTests {
    private static let read = RedisCommand(
        "XREADGROUP", ["GROUP", "g", "c", "COUNT", 10, "BLOCK", 600_000, "STREAMS", "s", ">"])

    private func start(_ options: RedisOptions = RedisOptions()) async throws -> (
        RedisServer, RedisClient, RedisBlockingConnection
    ) {
        let server = try await RedisServer.start()
        let redis = RedisClient(url: server.url, logger: .quiet)
        try await redis.send(RedisCommand("XGROUP", ["CREATE", "s", "g", "$", "MKSTREAM"]))
        let client = RedisClient(url: server.url, options: options, logger: .quiet)
        return (server, redis, client.blockingConnection())
    }

    @Test func `a blocked read wakes when an entry comes`() async throws {
        // The wait is longer than the command timeout, which is added to it.
        let (server, redis, connection) = try await start(.impatientForReplies)
        async let reply = connection.send(Self.read, blockingFor: .seconds(600))
        try await redis.untilBlocked()
        try await Task.sleep(for: .milliseconds(500))
        try await redis.send(RedisCommand("XADD", ["s", "1-1", "f", "v"]))
        let streams = try await reply
        #expect(try streams[0][0].string() == "s")
        #expect(try streams[0][1][0][0].string() == "1-1")
        #expect(try streams[0][1][0][1][1].string() == "v")
        connection.close()
        await redis.close()
        server.stop()
    }

    @Test func `a blocked read that ends by itself is nil`() async throws {
        let (server, redis, connection) = try await start()
        let read = RedisCommand("XREADGROUP", ["GROUP", "g", "c", "BLOCK", 20, "STREAMS", "s", ">"])
        #expect(try await connection.send(read, blockingFor: .milliseconds(20)).isNil)
        connection.close()
        await redis.close()
        server.stop()
    }

    /// A read that is not woken waits for its own ten minutes. The time limit shows this.
    @Test(.timeLimit(.minutes(5))) func `interrupt wakes with nil and loses no entry`() async throws {
        let (server, redis, connection) = try await start()
        async let reply = connection.send(Self.read, blockingFor: .seconds(600))
        try await redis.untilBlocked()
        await connection.interrupt()
        #expect(try await reply.isNil)

        // The command is interrupted before it is sent, so it does not wait at all.
        await connection.interrupt()
        #expect(try await connection.send(Self.read, blockingFor: .seconds(600)).isNil)

        // Interrupts and entries race. Each entry is read exactly once.
        var read = 0
        for round in 1...50 {
            async let reply = connection.send(Self.read, blockingFor: .seconds(600))
            async let interrupted: Void = connection.interrupt()
            try await redis.send(RedisCommand("XADD", ["s", "\(round)-1", "f", "v"]))
            await interrupted
            read += try await reply[0][1].count
        }
        await connection.interrupt()
        while true {
            let rest = try await connection.send(Self.read, blockingFor: .seconds(600))
            if rest.isNil { break }
            read += rest[0][1].count
            await connection.interrupt()
        }
        let pending = try await redis.send(RedisCommand("XPENDING", ["s", "g"]))[0].integer()
        #expect(read == pending)
        let unread = RedisCommand("XREADGROUP", ["GROUP", "g", "c2", "STREAMS", "s", ">"])
        read += try await redis.send(unread)[0][1].count
        #expect(read == 50)
        connection.close()
        await redis.close()
        server.stop()
    }

    @Test func `close resumes the blocked command`() async throws {
        let (server, redis, connection) = try await start()
        async let reply = connection.send(Self.read, blockingFor: .seconds(600))
        try await redis.untilBlocked()
        connection.close()
        do {
            _ = try await reply
            Issue.record("a reply from a closed connection")
        } catch RedisError.lost {}
        await #expect(throws: RedisError.closed) { try await connection.send(Self.read, blockingFor: .zero) }
        await redis.close()
        server.stop()
    }

    @Test func `a blocked read on a dying server is lost and the next one works`() async throws {
        let (server, redis, connection) = try await start()
        async let reply = connection.send(Self.read, blockingFor: .seconds(600))
        try await redis.untilBlocked()
        try await server.restart()
        do {
            _ = try await reply
            Issue.record("a reply from a killed server")
        } catch {}
        try await eventually("the connection works again", errorsPass: true) {
            try await connection.send(RedisCommand("PING"), blockingFor: .zero).string() == "PONG"
        }
        connection.close()
        await redis.close()
        server.stop()
    }

    @Test func `a server that does not wait is not asked thousands of times a second`() async throws {
        let server = try await RedisServer.start(tcp: true)
        let proxy = try RedisProxy(to: server)
        proxy.answerReads()
        let log = LogLines()
        let connection = RedisClient(url: proxy.url, logger: log.logger).blockingConnection()
        let begun = ContinuousClock.now
        for _ in 0..<5 { #expect(try await connection.send(Self.read, blockingFor: .seconds(600)).isNil) }
        #expect(begun.duration(to: .now) >= RedisBlockingConnection.earlyPause * 5)
        #expect(log.all.count { $0.contains("Redis does not wait for entries: reads pause command=XREADGROUP") } == 1)
        connection.close()
        proxy.stop()
        server.stop()
    }
}
