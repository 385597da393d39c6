import Redis
import TestSupport
import Testing

/// Tests a peer that is not Redis or sends nonsense: typed errors, bounded memory, no crash.
@Suite struct BrokenPeerTests {
    /// The outcome of one command to a peer that answers `answer`.
    private func outcome(
        _ answer: String?, after: FakeServer.After = .hold, greeting: String = FakeServer.greeting,
        options: RedisOptions = .patient
    ) async throws -> RedisError? {
        let server = try FakeServer(greeting: greeting, answer: answer, after: after)
        defer { server.stop() }
        let redis = RedisClient(url: try server.url, connections: 1, options: options, logger: .quiet)
        var result: RedisError?
        do {
            _ = try await redis.send(RedisCommand("GET", ["key"]))
        } catch {
            result = error
        }
        await redis.close()
        return result
    }

    @Test(arguments: [
        "HTTP/1.1 400 Bad Request\r\n\r\n", "\0\0\0\0\0\0\0\0", "$abc\r\n", "$-2\r\n", "*-5\r\n", ":12x\r\n",
        "*99999999\r\n", "*2147483648\r\n", "$9999999999999999999999\r\n",
        String(repeating: "*1\r\n", count: 100) + ":1\r\n",
    ])
    func `garbage is an unexpected reply`(answer: String) async throws {
        let error = try await outcome(answer)
        guard case .unexpectedReply = error else {
            Issue.record("\(error as Any)")
            return
        }
        #expect(error?.isRetriable == false)
    }

    @Test func `a string that never ends is cut off`() async throws {
        let flood = FakeServer.After.flood([UInt8](repeating: 0x41, count: 1 << 20))
        let error = try await outcome("$99999999999\r\n", after: flood)
        guard case .unexpectedReply = error else {
            Issue.record("\(error as Any)")
            return
        }
    }

    @Test(arguments: ["$99999999999\r\n", "$5\r\nab", "*3\r\n:1\r\n", "+OK"])
    func `a reply that stops half way is lost`(answer: String) async throws {
        for after in [FakeServer.After.hold, .close] {
            guard case .lost = try await outcome(answer, after: after, options: .impatientForReplies) else {
                Issue.record("\(answer)")
                continue
            }
        }
    }

    @Test func `more replies than asked for close the connection`() async throws {
        let server = try FakeServer(answer: "+OK\r\n+OK\r\n")
        defer { server.stop() }
        let redis = RedisClient(url: try server.url, connections: 1, options: .patient, logger: .quiet)
        // The first reply is good. The second belongs to no command, and must not answer the next one.
        #expect(try await redis.send(RedisCommand("PING")).string() == "OK")
        #expect(try await redis.send(RedisCommand("PING")).string() == "OK")
        #expect(server.connections == 2)
        await redis.close()
    }

    @Test func `a server that is full says why`() async throws {
        let error = try await outcome(nil, after: .close, greeting: "-ERR max number of clients reached\r\n")
        guard case .unreachable(let why) = error else {
            Issue.record("\(error as Any)")
            return
        }
        #expect(why.contains("max number of clients"))
    }

    @Test func `a silent server is unreachable in time`() async throws {
        let error = try await outcome(nil, greeting: "", options: .impatient)
        guard case .unreachable(let why) = error else {
            Issue.record("\(error as Any)")
            return
        }
        #expect(why.contains("no greeting"))
    }

    @Test func `a server that hangs up after the greeting does not loop`() async throws {
        let error = try await outcome(nil, after: .close)
        switch error {
        case .unreachable, .lost: break
        default: Issue.record("\(error as Any)")
        }
    }

    @Test func `states of the server are named with a remedy`() async throws {
        for (answer, code, retriable) in [
            ("-LOADING Redis is loading the dataset in memory\r\n", "LOADING", true),
            ("-OOM command not allowed when used memory > 'maxmemory'.\r\n", "OOM", true),
            ("-READONLY You can't write against a read only replica.\r\n", "READONLY", true),
            ("-NOAUTH Authentication required.\r\n", "NOAUTH", false),
            ("-MOVED 3999 127.0.0.1:6381\r\n", "MOVED", false),
        ] {
            let error = try await outcome(answer)
            guard case .server(code, _) = error else {
                Issue.record("\(error as Any)")
                continue
            }
            #expect(error?.isRetriable == retriable)
            #expect(error?.remedy != nil)
        }
    }
}
