import Glibc
import LiveActivity
import Redis
import Synchronization
import TestSupport
import Testing

@testable import Store
@testable import StoreRegistry

/// Requests of a crowd, each with one registration, while Redis answers late.
@Suite struct RegistrationTurnsTests {
    /// Makes the registrations at once, against a server that stands still until all of them wait.
    private func crowd(
        _ fixture: RegistryFixture, _ registry: Registry, _ registrations: [Registration],
        until act: (RedisServer) async throws -> Void
    ) async throws -> [Result<RegistrationResult, StoreError>] {
        let (app, place) = (fixture.app, TokenPlace.activity(fixture.name))
        fixture.server.signal(SIGSTOP)
        return try await withThrowingTaskGroup { tasks in
            for (index, registration) in registrations.enumerated() {
                tasks.addTask {
                    (
                        index,
                        await Self.outcome { () throws(StoreError) in
                            try await registry.track(app, place, registration)
                        }
                    )
                }
            }
            let key = RegistryMemory.Key(app: app, tokens: place)
            try await eventually("all but the first wait for their turn") {
                registry.turns.waiting.withLock { $0[key]?.count } == registrations.count - 1
            }
            try await act(fixture.server)
            var results = [Result<RegistrationResult, StoreError>](
                repeating: .success(.stale), count: registrations.count)
            for try await (index, result) in tasks { results[index] = result }
            // The last of them has its result a moment before.
            try await eventually("no turn is under way") { registry.turns.waiting.withLock { $0.isEmpty } }
            return results
        }
    }

    private static func outcome(
        _ call: () async throws(StoreError) -> RegistrationResult
    ) async -> Result<RegistrationResult, StoreError> {
        do throws(StoreError) { return .success(try await call()) } catch { return .failure(error) }
    }

    private func registrations(_ count: Int, _ fixture: RegistryFixture) -> [Registration] {
        (0..<count).map { Registration(channel: .random(), token: .test($0), registeredAt: fixture.time.now) }
    }

    /// The hash key is read before the server stands still.
    private func warm(_ fixture: RegistryFixture, _ registry: Registry) async throws {
        _ = try await registry.buckets.hashKey()
    }

    @Test(.enabled(if: !RedisServer.isCluster, "it stops the one server"))
    func `those that wait share a call, and each gets its result`() async throws {
        try await RegistryFixture.run { fixture in
            try await warm(fixture, fixture.registry)
            let past = Registration(
                channel: .random(), token: .test(9), registeredAt: fixture.time.now,
                startedAt: fixture.time.now - 48 * 3_600_000)
            let all = registrations(100, fixture) + [past] + registrations(19, fixture)
            _ = try await fixture.command("CONFIG", "RESETSTAT")
            let results = try await crowd(fixture, fixture.registry, all) { $0.signal(SIGCONT) }
            for (registration, result) in zip(all, results) {
                #expect(try result.get() == (registration == past ? .stale : .stored))
            }
            #expect(try await fixture.scan().tokens.count == 119)
            #expect(try await fixture.redis.calls(of: "evalsha") == 3, "the first one, then a hundred, then the rest")
        }
    }

    @Test(.enabled(if: !RedisServer.isCluster, "it stops the one server"))
    func `without room only newcomers are refused`() async throws {
        try await RegistryFixture.run { fixture in
            var registry = fixture.registry
            registry.quotas.limits = [.followers: 20]
            let followers = registrations(20, fixture)
            _ = try await registry.track(fixture.app, .activity(fixture.name), followers)
            fixture.time.advance(hours: 0.01)
            _ = try await registry.track(fixture.app, .activity(fixture.name), [followers[0]])
            let again = followers.map {
                Registration(channel: $0.channel, token: .test(77), registeredAt: fixture.time.now)
            }
            let all = again + registrations(3, fixture)
            let results = try await crowd(fixture, registry, all) { $0.signal(SIGCONT) }
            for (index, result) in results.enumerated() {
                #expect(result == (index < 20 ? .success(.stored) : .failure(.quotaReached(.followers, limit: 20))))
            }
        }
    }

    @Test func `those that wait fail with the turn that Redis failed, and not each in its own`() async throws {
        try await RegistryFixture.run { fixture in
            let (turns, registration) = (RegistrationTurns(), registrations(1, fixture)[0])
            let key = RegistryMemory.Key(app: fixture.app, tokens: .activity(fixture.name))
            #expect(turns.begins(key) && !turns.begins(key))
            async let outcome = withCheckedContinuation { continuation in
                turns.add(
                    .init(
                        registry: fixture.registry, registration: registration, endAfter: nil,
                        continuation: continuation), to: key)
            }
            try await eventually("it waits") { turns.waiting.withLock { $0[key]?.count } == 1 }
            let next = turns.next(key, after: .failure(.redis(.closed))) ?? []
            #expect(next.isEmpty)
            for waiting in next { waiting.continuation.resume(returning: nil) }
            #expect(await outcome == .failure(.redis(.closed)))
            #expect(turns.begins(key))
        }
    }

    @Test(.enabled(if: !RedisServer.isCluster, "it stops the one server"))
    func `a server that dies fails all of them, and the next one goes out`() async throws {
        try await RegistryFixture.run { fixture in
            try await warm(fixture, fixture.registry)
            let results = try await crowd(fixture, fixture.registry, registrations(30, fixture)) { server in
                server.signal(SIGKILL)
            }
            // Those that waited may meet the next connection's error.
            #expect(results.allSatisfy { if case .failure(.redis) = $0 { true } else { false } })
            try await fixture.server.restart()
            try await eventually("Redis is back", errorsPass: true) {
                let next = registrations(1, fixture)[0]
                return try await fixture.registry.track(fixture.app, .activity(fixture.name), next) == .stored
            }
        }
    }
}
