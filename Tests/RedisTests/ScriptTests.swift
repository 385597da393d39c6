import Redis
import TestSupport
import Testing

@Suite struct ScriptTests {
    private let add = RedisScript(
        name: "add", keys: ["key"], arguments: ["value"], body: "return redis.call('INCRBY', key, value)")

    @Test func `the digest is the one Redis computes`() async throws {
        let server = try await RedisServer.start()
        let redis = RedisClient(url: server.url, logger: .quiet)
        // Lengths around SHA-1's block of 64 bytes and its padding.
        for length in [0, 1, 40, 41, 42, 49, 50, 105, 1_000] {
            let source = "return 1 --" + String(repeating: "é", count: length)
            let script = RedisScript(name: "comment", keys: [], body: source)
            let digest = try await redis.send(RedisCommand("SCRIPT", ["LOAD", .string(script.source)])).string()
            #expect(digest == script.digest)
        }
        await redis.close()
    }

    @Test func `known scripts are loaded with the connection`() async throws {
        let server = try await RedisServer.start()
        let redis = RedisClient(url: server.url, connections: 1, scripts: [add], logger: .quiet)
        let exists = try await redis.send(RedisCommand("SCRIPT", ["EXISTS", .string(add.digest)]))
        #expect(try exists[0].integer() == 1)
        #expect(try await redis.send(RedisCommand(add, keys: ["key": RedisKey("n")], ["value": 5])).integer() == 5)
        await redis.close()
    }

    @Test func `a connection loads only the scripts that its server lacks`() async throws {
        let server = try await RedisServer.start()
        let other = RedisScript(name: "other", keys: [], body: "return 1")
        for scripts in [[add], [add, other], [other]] {
            let redis = RedisClient(url: server.url, connections: 1, scripts: scripts, logger: .quiet)
            let info = try await redis.send(RedisCommand("INFO", ["commandstats"])).string()
            let loads = info.split(separator: "\r\n").first { $0.hasPrefix("cmdstat_script|load:") }
            // The third client finds both.
            #expect(loads?.hasPrefix("cmdstat_script|load:calls=\(scripts == [add] ? 1 : 2),") == true, "\(info)")
            await redis.close()
        }
    }

    @Test func `arguments of any length reach a script as they are`() async throws {
        let server = try await RedisServer.start()
        let redis = RedisClient(url: server.url, logger: .quiet)
        let echo = RedisScript(
            name: "echo", keys: ["key"], arguments: ["first", "number", "last"], takesRest: true,
            body: "return {key, first, number, last, ARGV[rest], #ARGV}")
        // Around the lengths at which the head of a packed string grows.
        for length in [0, 31, 32, 65_535, 65_536] {
            let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
            let reply = try await redis.send(
                RedisCommand(
                    echo, keys: ["key": RedisKey("k")],
                    ["first": .bytes(bytes), "number": .int(-7), "last": .string("é")], rest: ["rest"]))
            #expect(try Array(reply[1].bytes()) == bytes, "\(length)")
            #expect(try [0, 2, 3, 4].map { try reply[$0].string() } == ["k", "-7", "é", "rest"], "\(length)")
            #expect(try reply[5].integer() == 2)
        }
        await redis.close()
    }

    @Test func `a flushed script is loaded again and only its command repeated`() async throws {
        let server = try await RedisServer.start()
        let redis = RedisClient(url: server.url, scripts: [add], logger: .quiet)
        try await redis.send(RedisCommand("SCRIPT", ["FLUSH"]))
        let replies = try await redis.pipeline([
            RedisCommand("INCR", ["other"]),
            RedisCommand(add, keys: ["key": RedisKey("n")], ["value": 2]),
            RedisCommand("INCR", ["other"]),
            RedisCommand(add, keys: ["key": RedisKey("n")], ["value": 3]),
        ])
        #expect(try replies.map { try $0.integer() } == [1, 2, 2, 5])
        try await redis.send(RedisCommand("SCRIPT", ["FLUSH"]))
        #expect(try await redis.send(RedisCommand(add, keys: ["key": RedisKey("n")], ["value": 1])).integer() == 6)
        await redis.close()
    }

    @Test func `a pipeline whose second part is not sent may have been executed`() async throws {
        let server = try await RedisServer.start(tcp: true)
        let proxy = try RedisProxy(to: server)
        let redis = RedisClient(url: proxy.url, connections: 1, logger: .quiet)
        try await redis.send(RedisCommand("PING"))
        // The connection breaks after the answer that Redis does not know the script.
        proxy.arm(.cutBehind, passing: 1)
        let commands = [
            RedisCommand("INCR", ["other"]), RedisCommand(add, keys: ["key": RedisKey("n")], ["value": 2]),
        ]
        await #expect {
            try await redis.pipeline(commands)
        } throws: { error in
            if case .lost? = error as? RedisError { true } else { false }
        }
        #expect(proxy.disarm())
        #expect(try await redis.send(RedisCommand("GET", ["other"])).string() == "1")
        await redis.close()
        proxy.stop()
        server.stop()
    }

    @Test func `a script that was lost stays before the commands of the next step`() async throws {
        let server = try await RedisServer.start()
        let redis = RedisClient(url: server.url, logger: .quiet)
        let push = RedisScript(
            name: "push", keys: ["key"], arguments: ["value"], body: "return redis.call('RPUSH', key, value)")
        func log(_ text: RedisArgument) -> RedisCommand { RedisCommand("RPUSH", ["log", text]) }
        // The server has lost the script, then knows it, and then has lost it again.
        for isLost in [true, false, true] {
            try await redis.send(RedisCommand("DEL", ["log"]))
            if isLost { try await redis.send(RedisCommand("SCRIPT", ["FLUSH"])) }
            let replies = try await redis.pipeline(
                [
                    log("mark"), RedisCommand(push, keys: ["key": RedisKey("log")], ["value": "commit"]), log("beside"),
                    log("wake"),
                ],
                inStepsAt: [1, 3])
            #expect(replies.allSatisfy { $0.error == nil })
            let lines = try await redis.send(RedisCommand("LRANGE", ["log", "0", "-1"])).array()
            let texts = try lines.map { try $0.string() }
            #expect(texts.first == "mark" && texts.last == "wake", "\(texts)")
            #expect(texts.dropLast().contains("commit") && texts.count { $0 == "commit" } == 1)
        }
        await redis.close()
    }

    @Test func `a script that does not compile says so`() async throws {
        let server = try await RedisServer.start()
        let broken = RedisScript(name: "broken", keys: [], body: "return (")
        let redis = RedisClient(url: server.url, scripts: [broken], logger: .quiet)
        let error = await #expect(throws: RedisError.self) { try await redis.send(RedisCommand(broken, keys: [:])) }
        #expect(error?.description.contains("compiling") == true)
        await redis.close()
    }

    @Test func `a call with another number of keys ends the process and names the script`() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let script = RedisScript(name: "two-keys", keys: ["one", "other"], takesRest: true, body: "return 1")
            _ = RedisCommand(script, keys: ["one": RedisKey("a")], rest: ["b"])
        }
        let words = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(words.contains("the script two-keys has 2 keys, but is called with 1"), "\(words)")
    }

    @Test func `a transaction is atomic`() async throws {
        let server = try await RedisServer.start()
        let redis = RedisClient(url: server.url, connections: 3, logger: .quiet)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<50 {
                        let replies = try await redis.transaction([
                            RedisCommand("INCR", ["a"]), RedisCommand("INCR", ["b"]),
                        ])
                        #expect(try replies[0].integer() == replies[1].integer())
                    }
                }
                group.addTask {
                    for _ in 0..<50 {
                        let pair = try await redis.transaction([RedisCommand("GET", ["a"]), RedisCommand("GET", ["b"])])
                        if pair[0].isNil {
                            #expect(pair[1].isNil)
                        } else {
                            #expect(try pair[0].string() == pair[1].string())
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await redis.send(RedisCommand("GET", ["a"])).integer() == 400)
        #expect(try await redis.transaction([]).isEmpty)
        await redis.close()
    }

    @Test func `a transaction carries its scripts and refuses as a whole`() async throws {
        let server = try await RedisServer.start()
        let redis = RedisClient(url: server.url, connections: 1, logger: .quiet)
        let replies = try await redis.transaction([
            RedisCommand(add, keys: ["key": RedisKey("n")], ["value": 4]), RedisCommand("GET", ["n"]),
        ])
        #expect(try replies[0].integer() == 4)
        #expect(try replies[1].integer() == 4)

        // After an error before EXEC nothing was executed. After an error inside EXEC the others were, and the
        // error keeps its position.
        await #expect(throws: RedisError.self) {
            try await redis.transaction([RedisCommand("INCR", ["n"]), RedisCommand("NOSUCHCOMMAND")])
        }
        #expect(try await redis.send(RedisCommand("GET", ["n"])).integer() == 4)
        let mixed = try await redis.transaction([RedisCommand("INCR", ["n"]), RedisCommand("HGET", ["n", "f"])])
        #expect(try mixed[0].integer() == 5)
        guard case .server("WRONGTYPE", _) = mixed[1].error else {
            Issue.record("\(mixed[1].error as Any)")
            return
        }
        // The connection has left MULTI.
        #expect(try await redis.send(RedisCommand("GET", ["n"])).integer() == 5)
        await redis.close()
    }
}
