import Redis
import TestSupport
import Testing

/// A cluster whose nodes do not know an address that clients could use.
@Suite struct RedirectionTests {
    @Test(arguments: ["MOVED 42 ?:6379", "MOVED", "ASK 42 ?:6379"])
    func `a redirection that leads nowhere is named, and not the scheme of the URL`(answer: String) async throws {
        let server = try await RedisServer.start(tcp: true)
        let proxy = try RedisProxy(to: server)
        let port = try #require("\(proxy.url)".split(separator: ":").last?.prefix { $0 != "/" })
        let node = "*3\r\n$9\r\n127.0.0.1\r\n:\(port)\r\n$1\r\na"
        proxy.answer("CLUSTER", with: "*1\r\n*3\r\n:0\r\n:16383\r\n\(node)")
        for command in ["GET", "MULTI"] { proxy.answer(command, with: "-\(answer)") }
        let redis = RedisClient(url: try RedisURL("redis+cluster://127.0.0.1:\(port)"), logger: .quiet)
        let key = RedisKey("key")
        let single = await #expect(throws: RedisError.self) { try await redis.send(RedisCommand("GET", key)) }
        let atomic = await #expect(throws: RedisError.self) { try await redis.transaction([RedisCommand("GET", key)]) }
        for error in [single, atomic] {
            guard case .server("NOADDRESS", _)? = error else {
                Issue.record("\(error as Any)")
                continue
            }
            let text = error?.description ?? ""
            #expect(text.contains("127.0.0.1:\(port)") && text.contains(answer) && text.contains("cluster-announce-ip"))
        }
        await redis.close()
        proxy.stop()
        server.stop()
    }
}
