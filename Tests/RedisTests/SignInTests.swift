import Redis
import TestSupport
import Testing

@Suite struct SignInTests {
    @Test func `a password alone signs in the default user`() async throws {
        let server = try await RedisServer.start(tcp: true, extra: ["--requirepass", "p@ss/word%"])
        let port = try #require(server.port)
        for url in [
            "redis://:p%40ss%2Fword%25@127.0.0.1:\(port)/2", "redis://default:p%40ss%2Fword%25@localhost:\(port)",
            "unix://:p%40ss%2fword%25@\(server.socketPath)?db=3",
        ] {
            let redis = RedisClient(url: try RedisURL(url), logger: .quiet)
            try await redis.ping()
            await redis.close()
        }
    }

    @Test func `a wrong password is a clear error that nobody can read it from`() async throws {
        let server = try await RedisServer.start(tcp: true, extra: ["--requirepass", "right"])
        let port = try #require(server.port)
        let redis = RedisClient(url: try RedisURL("redis://:hunter2@127.0.0.1:\(port)"), logger: .quiet)
        for _ in 0..<2 {
            let error = await #expect(throws: RedisError.self) { try await redis.ping() }
            guard case .server("WRONGPASS", _) = error else {
                Issue.record("\(error as Any)")
                return
            }
            #expect(error?.isRetriable == false)
            #expect(error?.description.contains("hunter2") == false)
        }
        await redis.close()

        let anonymous = RedisClient(url: server.tcpURL, logger: .quiet)
        let error = await #expect(throws: RedisError.self) { try await anonymous.ping() }
        guard case .server("NOAUTH", _) = error else {
            Issue.record("\(error as Any)")
            return
        }
        await anonymous.close()
    }

    /// Redis hangs up on a long command of a client that has not signed in. Over a unix socket its last words are lost.
    @Test func `a missing and a wrong password are named beside scripts to load`() async throws {
        let server = try await RedisServer.start(tcp: true, extra: ["--requirepass", "right"])
        let filler = String(repeating: "-- nothing\n", count: 4_000)
        let script = RedisScript(name: "long", keys: ["key"], arguments: [], body: filler + "return 1")
        let port = try #require(server.port)
        for (url, expected) in [
            ("redis://127.0.0.1:\(port)", "NOAUTH"), ("unix://\(server.socketPath)", "NOAUTH"),
            ("redis://:wrong@127.0.0.1:\(port)", "WRONGPASS"), ("unix://:wrong@\(server.socketPath)", "WRONGPASS"),
        ] {
            let redis = RedisClient(url: try RedisURL(url), scripts: [script], logger: .quiet)
            let error = await #expect(throws: RedisError.self) { try await redis.ping() }
            guard case .server(expected, _) = error else {
                Issue.record("\(url): \(error as Any)")
                continue
            }
            await redis.close()
        }
    }

    @Test func `an ACL user signs in with its own rights`() async throws {
        let server = try await RedisServer.start(extra: [
            "--user", "lamp", "on", ">secret", "~lamp:*", "+@all", "-client", "-time",
        ])
        let redis = RedisClient(url: try RedisURL("unix://lamp:secret@\(server.socketPath)"), logger: .quiet)
        try await redis.send(RedisCommand("SET", ["lamp:a", "1"]))
        let error = await #expect(throws: RedisError.self) { try await redis.send(RedisCommand("GET", ["other"])) }
        guard case .server("NOPERM", _) = error else {
            Issue.record("\(error as Any)")
            return
        }
        // Inside a script Redis gives no code of its own.
        let script = RedisScript(name: "now", keys: ["key"], arguments: [], body: "return redis.call('TIME')")
        let denied = await #expect(throws: RedisError.self) {
            try await redis.send(RedisCommand(script, keys: ["key": RedisKey("lamp:a")]))
        }
        guard case .server("NOPERM", _) = denied else {
            Issue.record("\(denied as Any)")
            return
        }
        await redis.close()
        let stranger = RedisClient(url: try RedisURL("unix://nobody:secret@\(server.socketPath)"), logger: .quiet)
        await #expect(throws: RedisError.self) { try await stranger.ping() }
        await stranger.close()
    }

    @Test func `the database is selected on every connection`() async throws {
        let server = try await RedisServer.start()
        let third = RedisClient(url: try RedisURL("unix://\(server.socketPath)?db=3"), connections: 3, logger: .quiet)
        let first = RedisClient(url: server.url, logger: .quiet)
        for index in 0..<6 { try await third.send(RedisCommand("SET", ["k\(index)", "v"])) }
        #expect(try await first.send(RedisCommand("DBSIZE")).integer() == 0)
        #expect(try await third.send(RedisCommand("DBSIZE")).integer() == 6)
        await third.close()
        await first.close()

        let beyond = RedisClient(url: try RedisURL("unix://\(server.socketPath)?db=999"), logger: .quiet)
        let error = await #expect(throws: RedisError.self) { try await beyond.ping() }
        #expect(error?.description.contains("DB index is out of range") == true)
        await beyond.close()
    }

    @Test func `the server tells its version and settings`() async throws {
        let server = try await RedisServer.start(append: true)
        let redis = RedisClient(url: server.url, logger: .quiet)
        #expect(try await redis.info(section: "server")["redis_version"]?.isEmpty == false)
        #expect(try await redis.info()["tcp_port"] == "0")
        #expect(try await redis.configValue("appendfsync") == "always")
        #expect(try await redis.configValue("hash-max-ziplist-value") == "1024")
        #expect(try await redis.configValue("no-such-setting") == nil)
        await redis.close()
    }

    @Test func `a full server refuses writes with OOM`() async throws {
        let server = try await RedisServer.start(extra: ["--maxmemory", "1mb", "--maxmemory-policy", "noeviction"])
        let redis = RedisClient(url: server.url, logger: .quiet)
        let error = await #expect(throws: RedisError.self) {
            for index in 0..<100 {
                try await redis.send(RedisCommand("SET", ["k\(index)", .bytes([UInt8](repeating: 1, count: 100_000))]))
            }
        }
        guard case .server("OOM", _) = error else {
            Issue.record("\(error as Any)")
            return
        }
        #expect(error?.description.contains("maxmemory") == true)
        await redis.close()
    }
}
