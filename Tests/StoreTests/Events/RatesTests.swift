import Redis
import TestSupport
import Testing

@testable import Store

/// Buckets of requests in Redis.
@Suite struct RatesTests {
    private func run(_ body: (Store) async throws -> Void) async throws {
        let server = try await RedisServer.start()
        defer { server.stop() }
        let redis = RedisClient(url: server.url, scripts: Store.scripts, logger: .quiet)
        try await body(Store(redis: redis))
        await redis.close()
    }

    @Test func `a bucket gives a second's requests, then says when the next one comes`() async throws {
        try await run { store in
            // One request in 100 s: the test is never that slow.
            let key = store.keys.rate("x")
            func take(_ wanted: Int) async throws -> [Int] {
                try await store.redis.run(
                    Lua.rateTake, keys: ["rate": key], ["interval": "100000", "room": "500000", "wanted": .int(wanted)]
                ).array().map { try $0.integer() }
            }
            #expect(try await take(2) == [2, 0])
            #expect(try await take(10) == [3, 0], "as many as there are")
            let refused = try await take(1)
            #expect(refused[0] == 0 && (1...100_000).contains(refused[1]), "\(refused)")
            let life = try await store.redis.send(RedisCommand("PTTL", key)).integer()
            #expect((400_000...501_000).contains(life), "it is forgotten when it is full: \(life)")
        }
    }

    @Test func `each caller has a bucket, and Redis does not have its name`() async throws {
        try await run { store in
            let first = try await store.rates.take("address 192.0.2.1", perSecond: 5, wanted: 5)
            #expect(first.taken == 5)
            let other = try await store.rates.take("address 192.0.2.2", perSecond: 5, wanted: 9)
            #expect(other.taken == 5)
            // Each is gone two seconds after it was used.
            var keys: [String] = []
            try await eventually("both have a bucket") {
                for address in ["192.0.2.1", "192.0.2.2"] {
                    _ = try await store.rates.take("address \(address)", perSecond: 5, wanted: 5)
                }
                keys = try await store.redis.keys().map(\.description)
                return keys.count == 2
            }
            #expect(!keys.contains { $0.contains("192.0") })
        }
    }
}
