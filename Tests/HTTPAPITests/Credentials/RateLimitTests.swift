import Redis
import Store
import Synchronization
import TestSupport
import Testing

@testable import HTTPAPI

/// Requests a second, at all gateways together.
@Suite struct RateLimitTests {
    @Test func `two gateways share the bucket of a caller, and ask Redis once for many requests`() async throws {
        let server = try await RedisServer.start()
        defer { server.stop() }
        let redis = RedisClient(url: server.url, scripts: Store.scripts, logger: .quiet)
        let store = Store(redis: redis)
        let limits = [RateLimit(store.rates), RateLimit(store.rates)]
        _ = try await redis.send(RedisCommand("CONFIG", ["RESETSTAT"]))
        // The bucket is refilled in the time of the test: so many requests a second that nobody is refused.
        for number in 0..<1_000 { #expect(await limits[number % 2].wait("x", perSecond: 1_000_000) == nil) }
        #expect(try await redis.calls(of: "evalsha") < 50)
        // A bucket holds a second's requests. If each gateway had one, both together would let twice as many through
        // before each has refused one.
        let rate = 10
        var accepted = 0
        var refusing: Set<Int> = []
        let start = ContinuousClock.now
        for number in 0..<10_000 where refusing.count < limits.count {
            let isRefused = await limits[number % 2].wait("y", perSecond: rate) != nil
            if isRefused { refusing.insert(number % 2) } else { accepted += 1 }
        }
        let seconds = start.duration(to: .now) / .seconds(1)
        #expect(refusing.count == limits.count)
        // The bucket fills while the test runs, however slow the machine is.
        #expect(Double(accepted) <= Double(rate) * (1 + seconds) + 1, "\(accepted) in \(seconds) s")
        await redis.close()
    }

    @Test func `a caller that is refused asks Redis nothing until its time comes`() async throws {
        let server = try await RedisServer.start()
        defer { server.stop() }
        let redis = RedisClient(url: server.url, scripts: Store.scripts, logger: .quiet)
        let start = ContinuousClock.now
        let limit = RateLimit(Store(redis: redis).rates, now: { start })
        while await limit.wait("y", perSecond: 1) == nil {}
        _ = try await redis.send(RedisCommand("CONFIG", ["RESETSTAT"]))
        for _ in 0..<100 { #expect(await limit.wait("y", perSecond: 1) == 1) }
        #expect(try await redis.calls(of: "evalsha") == 0)
        #expect(await limit.wait("z", perSecond: 0) == nil, "0 is no limit")
        await redis.close()
    }

    @Test func `without Redis nobody is refused here`() async throws {
        let server = try await RedisServer.start()
        var options = RedisOptions()
        options.connectTimeout = .milliseconds(200)
        options.commandTimeout = .milliseconds(200)
        let redis = RedisClient(url: server.url, scripts: Store.scripts, options: options, logger: .quiet)
        let limit = RateLimit(Store(redis: redis).rates)
        server.stop()
        #expect(await limit.wait("x", perSecond: 1) == nil)
        await redis.close()
    }

    @Test func `an address and a credential that are too fast are answered 429, others go on`() async throws {
        try await GatewayFixture.run(configure: {
            $0.trustedProxies = TrustedProxies(AddressRanges("127.0.0.1")!)
            $0.requestsPerAddress = 1
        }) { gateway in
            func send(
                _ address: String, _ secret: String, _ path: String = "/api/activities/m/broadcast"
            ) async throws -> Reply {
                try await gateway.send(
                    "GET", path, user: "\(GatewayFixture.key):\(secret)", headers: [("X-Forwarded-For", address)])
            }
            var refused = try await send("192.0.2.1", GatewayFixture.secret)
            for _ in 0..<100 where refused.status == 404 {
                refused = try await send("192.0.2.1", GatewayFixture.secret)
            }
            #expect(refused.status == 429 && refused.header("retry-after") == "1", "\(refused.text)")
            #expect(refused.text.contains("this address"))
            #expect(gateway.log.all.contains { $0.contains("an address is over limits.requests_per_address") })
            #expect(try await send("192.0.2.2", GatewayFixture.secret).status == 404)
            // All calls of a publisher may come from one address.
            for _ in 0..<20 { #expect(try await send("192.0.2.1", GatewayFixture.masterSecret).status == 404) }
            // Requests that need no secret count too, however they end.
            for (number, path) in ["/openapi.json", "/readyz", "/metrics", "/nope", "/api/push/x/y"].enumerated() {
                var reply = try await send("192.0.3.\(number)", "", path)
                for _ in 0..<100 where reply.status != 429 { reply = try await send("192.0.3.\(number)", "", path) }
                #expect(reply.status == 429, "\(path)")
            }
            #expect(try await gateway.send("GET", "/healthz").status == 200)
        }
        try await GatewayFixture.run(configure: { $0.requestsPerCredential = 1 }) { gateway in
            func send(_ user: String) async throws -> Reply {
                try await gateway.send("GET", "/api/activities/m/broadcast", user: "\(GatewayFixture.key):\(user)")
            }
            var refused = try await send(GatewayFixture.masterSecret)
            for _ in 0..<100 where refused.status != 429 { refused = try await send(GatewayFixture.masterSecret) }
            #expect(refused.status == 429 && refused.text.contains("the credential 'master'"), "\(refused.text)")
            // The app secret is in every device, so it is no one caller.
            for _ in 0..<20 { #expect(try await send(GatewayFixture.secret).status == 404) }
        }
    }

    @Test func `bulk calls have a limit of their own`() {
        let capacity = Capacity(requests: [.master: 100], bytes: 1, streams: 2, apps: 1)
        let shares = (0..<3).map { _ in capacity.share(of: .master, nil) }
        #expect(shares[0].take(.streams) && shares[1].take(.streams) && !shares[2].take(.streams))
        shares[0].giveBackAll()
        #expect(shares[2].take(.streams))
    }
}
