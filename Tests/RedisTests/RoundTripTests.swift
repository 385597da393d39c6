import Redis
import TestSupport
import Testing

@Suite struct RoundTripTests {
    @Test func `bytes come back as they were`() async throws {
        let server = try await RedisServer.start()
        let redis = RedisClient(url: server.url, logger: .quiet)
        let everything = (0..<4_096).map { UInt8(truncatingIfNeeded: $0 &* 7) } + Array("\r\n$5\r\n\0".utf8)
        try await redis.send(RedisCommand("SET", [.bytes(everything), .bytes(everything[3...])]))
        let back = try await redis.send(RedisCommand("GET", [.bytes(everything)])).bytes()
        #expect(Array(back) == Array(everything[3...]))
        #expect(try await redis.send(RedisCommand("GET", ["absent"])).isNil)
        try await redis.send(RedisCommand("SET", ["empty", .bytes([])]))
        #expect(try await redis.send(RedisCommand("GET", ["empty"])).bytes().isEmpty)
        for number in [Int64.min, -1, 0, 9, 10, 99, 100, Int64.max] {
            try await redis.send(RedisCommand("SET", ["number", .int(number)]))
            #expect(try await redis.send(RedisCommand("GET", ["number"])).integer() == Int(number))
        }
        try await redis.send(RedisCommand("SET", ["number", .int(UInt64.max)]))
        #expect(try await redis.send(RedisCommand("GET", ["number"])).string() == "18446744073709551615")
        await redis.close()
    }

    @Test(arguments: [false, true])
    func `ten thousand commands from a hundred tasks`(sharesTurns: Bool) async throws {
        let server = try await RedisServer.start()
        var options = RedisOptions()
        options.sharesTurns = sharesTurns
        let redis = RedisClient(url: server.url, connections: 3, options: options, logger: .quiet)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<100 {
                group.addTask {
                    for step in 0..<100 {
                        let text = "\(task):\(step)"
                        let reply = try await redis.send(RedisCommand("ECHO", [.string(text)]))
                        #expect(try reply.string() == text)
                        if step.isMultiple(of: 10) { try await redis.send(RedisCommand("INCR", ["steps"])) }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await redis.send(RedisCommand("GET", ["steps"])).integer() == 1_000)
        await redis.close()
    }

    @Test func `a pipeline keeps its order and its errors in place`() async throws {
        let server = try await RedisServer.start()
        let redis = RedisClient(url: server.url, logger: .quiet)
        let count = 20_000
        var commands = (0..<count).map { RedisCommand("ECHO", [.int($0)]) }
        commands[7] = RedisCommand("NOSUCHCOMMAND", ["a-secret-argument"])
        let replies = try await redis.pipeline(commands)
        #expect(replies.count == count)
        for index in 0..<count where index != 7 {
            #expect(try replies[index].integer() == index)
        }
        guard case .server("UNSUPPORTED", let message) = replies[7].error else {
            Issue.record("no error in place 7")
            return
        }
        #expect(message.contains("unknown command"))
        #expect(!message.contains("a-secret-argument"))
        #expect(throws: RedisError.self) { try replies[7].string() }
        #expect(try await redis.pipeline([]).isEmpty)
        await redis.close()
    }

    @Test func `wrong types are typed errors`() async throws {
        let server = try await RedisServer.start()
        let redis = RedisClient(url: server.url, logger: .quiet)
        try await redis.send(RedisCommand("SET", ["text", "abc"]))
        let error = await #expect(throws: RedisError.self) {
            try await redis.send(RedisCommand("HGET", ["text", "f"]))
        }
        guard case .server("WRONGTYPE", _) = error else {
            Issue.record("\(error as Any)")
            return
        }
        #expect(error?.isRetriable == false)
        #expect(error?.description.contains("another program") == true)

        let text = try await redis.send(RedisCommand("GET", ["text"]))
        #expect(throws: RedisError.unexpectedReply("expected an integer, got a string of 3 bytes")) {
            try text.integer()
        }
        #expect(throws: RedisError.unexpectedReply("expected an array, got a string of 3 bytes")) { try text.array() }
        #expect(text.count == 0)
        #expect(throws: RedisError.unexpectedReply("expected a string, got no such element")) { try text[0].bytes() }
        #expect(!text[0].isNil)

        let time = try await redis.send(RedisCommand("TIME"))
        #expect(time.count == 2)
        #expect(throws: RedisError.self) { try time[2].integer() }
        #expect(throws: RedisError.self) { try time[-1].integer() }
        try await redis.send(RedisCommand("SET", ["latin", .bytes([0xE9])]))
        let latin = try await redis.send(RedisCommand("GET", ["latin"]))
        #expect(throws: RedisError.unexpectedReply("a string that is not UTF-8")) { try latin.string() }
        await redis.close()
    }

    @Test func `nested arrays keep their shape`() async throws {
        let server = try await RedisServer.start()
        let redis = RedisClient(url: server.url, logger: .quiet)
        let script = RedisScript(
            name: "nested", keys: [], body: "return {1,{2,{'three',{}},false},'four',{5}}")
        let reply = try await redis.send(RedisCommand(script, keys: [:]))
        #expect(reply.count == 4)
        #expect(try reply[0].integer() == 1)
        #expect(try reply[1][0].integer() == 2)
        #expect(try reply[1][1][0].string() == "three")
        #expect(try reply[1][1][1].array().isEmpty)
        #expect(reply[1][2].isNil)
        #expect(try reply[2].string() == "four")
        #expect(try reply[3][0].integer() == 5)
        await redis.close()
    }

    @Test func `large replies`() async throws {
        let server = try await RedisServer.start()
        let redis = RedisClient(url: server.url, connections: 1, logger: .quiet)
        let large = [UInt8](repeating: 0xA5, count: 20 << 20)
        try await redis.send(RedisCommand("SET", ["large", .bytes(large)]))
        #expect(try await Array(redis.send(RedisCommand("GET", ["large"])).bytes()) == large)
        let many = RedisScript(
            name: "many", keys: [], body: "local t = {} for i = 1, 200000 do t[i] = 'e' .. i end return t")
        let reply = try await redis.send(RedisCommand(many, keys: [:]))
        #expect(reply.count == 200_000)
        #expect(try reply[199_999].string() == "e200000")
        await redis.close()
    }
}
