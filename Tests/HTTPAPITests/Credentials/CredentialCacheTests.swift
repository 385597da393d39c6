import Answers
import HTTPTypes
import LiveActivity
import Redis
import Store
import Synchronization
import TestSupport
import Testing

@testable import HTTPAPI

/// How often gateways ask Redis for credentials.
@Suite struct CredentialCacheTests {
    private final class Clock: Sendable {
        private let passed = Mutex(Duration.zero)
        private let start = ContinuousClock.now

        var now: ContinuousClock.Instant { start + passed.withLock { $0 } }
        func pass(_ time: Duration) { passed.withLock { $0 += time } }
    }

    private let app = try! AppKey("shop")

    private func credential(_ secret: String) -> AppCredential {
        AppCredential(id: "feed", scopes: [.read], secrets: [.init(hash: SecretHash(of: secret).text)])
    }

    private func run(
        _ body: (Store, RedisClient, CredentialCache, Clock) async throws -> Void
    ) async throws {
        let server = try await RedisServer.start()
        defer { server.stop() }
        let redis = RedisClient(url: server.url, scripts: Store.scripts, logger: .quiet)
        let store = Store(redis: redis)
        let clock = Clock()
        try await body(store, redis, CredentialCache(store.credentials, now: { clock.now }), clock)
        await redis.close()
    }

    @Test func `a thousand requests of a second ask once, and the next second once more`() async throws {
        try await run { store, redis, cache, clock in
            _ = try await store.credentials.change(app, "feed", from: nil, to: credential("a"))
            _ = try await redis.send(RedisCommand("CONFIG", ["RESETSTAT"]))
            for second in 1...3 {
                for _ in 0..<1_000 { #expect(try await cache.recent(app, "feed") != nil) }
                #expect(try await redis.calls(of: "hget") == second)
                clock.pass(.seconds(1))
            }
            #expect(try await redis.calls(of: "hgetall") == 1, "the same version is not read again")
        }
    }

    @Test func `requests at the same moment share a question`() async throws {
        try await run { store, redis, cache, _ in
            _ = try await store.credentials.change(app, "feed", from: nil, to: credential("a"))
            _ = try await redis.send(RedisCommand("CONFIG", ["RESETSTAT"]))
            await withTaskGroup(of: Void.self) { requests in
                for number in 0..<1_000 {
                    requests.addTask { _ = try? await cache.current(self.app, "unknown-\(number)") }
                }
            }
            let asked = try await redis.calls(of: "hget")
            #expect((1..<500).contains(asked), "\(asked)")
        }
    }

    @Test func `what was revoked is over a second later, and at once where it was revoked`() async throws {
        try await run { store, _, cache, clock in
            _ = try await store.credentials.change(app, "feed", from: nil, to: credential("a"))
            #expect(try await cache.recent(app, "feed") != nil)
            #expect(try await store.credentials.remove(app, "feed"))
            clock.pass(.milliseconds(999))
            #expect(try await cache.recent(app, "feed") != nil, "not asked yet")
            clock.pass(.milliseconds(1))
            #expect(try await cache.recent(app, "feed") == nil)
            _ = try await store.credentials.change(app, "feed", from: nil, to: credential("a"))
            cache.forget(app)
            #expect(try await cache.recent(app, "feed") != nil)
        }
    }

    @Test func `a secret that another gateway has just made is good at once`() async throws {
        try await run { store, _, cache, _ in
            let authenticator = Authenticator([GatewayApp(key: app, secret: "app-secret", masterSecret: "master-m")])
            func status(_ secret: String) async throws -> String? {
                let claim = try #require(
                    CredentialClaim([.authorization: "Basic " + Base64.encode("shop:\(secret)".utf8)]))
                return try await authenticator.issued(claim, cache, now: testNow)?.1.credential.id
            }
            let first = credential("feed.one")
            #expect(try await status("feed.one") == nil)
            _ = try await store.credentials.change(app, "feed", from: nil, to: first)
            #expect(try await status("feed.one") == "feed")
            var second = first
            second.secrets.insert(.init(hash: SecretHash(of: "feed.two").text), at: 0)
            _ = try await store.credentials.change(app, "feed", from: first, to: second)
            #expect(try await status("feed.two") == "feed")
            #expect(try await status("feed.one") == "feed")
            #expect(try await status("feed.three") == nil)
        }
    }

    @Test func `without Redis nobody knows whether a credential is still valid`() async throws {
        let server = try await RedisServer.start()
        var options = RedisOptions()
        options.connectTimeout = .milliseconds(200)
        options.commandTimeout = .milliseconds(200)
        let redis = RedisClient(url: server.url, scripts: Store.scripts, options: options, logger: .quiet)
        let cache = CredentialCache(Store(redis: redis).credentials)
        server.stop()
        await #expect(throws: StoreError.self) { try await cache.recent(app, "feed") }
        await redis.close()
    }
}
