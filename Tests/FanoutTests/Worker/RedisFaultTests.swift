import Foundation
import LiveActivity
import Redis
import Store
import TestSupport
import Testing

@testable import Fanout

/// Tests every bad state of Redis during a sweep. An accepted push is sent to every token, and each token counts once.
@Suite struct RedisFaultTests {
    enum Fault: String, CaseIterable, Sendable {
        case outOfMemory, becomesReplica, forgetsScripts, killsConnections, standsStill, loadsForLong
    }

    /// Long enough for a worker on a busy machine to renew it.
    fileprivate static let lease = Duration.seconds(10)

    @Test(.timeLimit(.minutes(5)), arguments: Fault.allCases)
    func `a sweep outlives it`(fault: Fault) async throws {
        // A cluster makes its replicas itself.
        if fault == .becomesReplica, RedisServer.isCluster { return }
        // Only loading from disk is slow. The delay is in microseconds per key.
        let loads = fault == .loadsForLong
        let fixture = try await WorkerFixture.start(keeps: loads, extra: loads ? ["--key-load-delay", "50"] : [])
        try await fixture.track(0..<3_000)
        let transport = ScriptedTransport()
        transport.hold()
        let clock = fault == .standsStill ? TestClock() : nil
        let ledger = try await fixture.withWorker(
            transport, claimAfter: Self.lease, now: { clock?.now ?? bootClock() }
        ) {
            let id = try await fixture.publish()
            await transport.holding(pages: 1)
            try await fixture.strike(fault, clock) {
                // APNs answers while Redis accepts no settlement.
                transport.letGo()
                await transport.answered(1)
            }
            return try await fixture.finished(id)
        }
        #expect(ledger.state == .done && ledger.targets == 3_000 && ledger.delivered == 3_000, "\(ledger)")
        #expect(transport.counts.count == 3_000)
        // Only the open pages may be sent twice, because they were in flight when the lease was lost.
        #expect(transport.counts.values.allSatisfy { $0 <= 3 })
        // The name also works afterwards.
        let next = try await fixture.withWorker(transport) { try await fixture.finished(try await fixture.publish()) }
        #expect(next.delivered == 3_000)
    }
}

extension WorkerFixture {
    /// Puts Redis into a bad state during `body` and for a moment after it. Then Redis is healthy again.
    fileprivate func strike(
        _ fault: RedisFaultTests.Fault, _ clock: TestClock?, _ body: @Sendable () async throws -> Void
    ) async throws {
        let redis = store.redis
        switch fault {
        case .outOfMemory:
            try await redis.everywhere("CONFIG", "SET", "maxmemory", "1")
            try await body()
            try await refused()
            try await redis.everywhere("CONFIG", "SET", "maxmemory", "0")
        case .becomesReplica:
            try await redis.send(RedisCommand("REPLICAOF", ["127.0.0.1", "1"]))
            try await body()
            try await refused()
            // The client leaves a server that became a replica, so a command may be lost with its connection.
            try await eventually("Redis is a primary again") {
                (try? await redis.send(RedisCommand("REPLICAOF", ["NO", "ONE"]))) != nil
            }
        case .forgetsScripts:
            try await redis.everywhere("SCRIPT", "FLUSH")
            try await body()
        case .killsConnections:
            for _ in 0..<5 {
                try await redis.everywhere("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            }
            try await body()
            _ = try? await redis.everywhere("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        case .standsStill:
            server.signal(SIGSTOP)
            try await body()
            // The lease ends on the worker's clock, before Redis can renew it.
            clock?.move(by: RedisFaultTests.lease)
            server.signal(SIGCONT)
        case .loadsForLong:
            server.signal(SIGKILL)
            async let restarted: Void = server.restart()
            try await body()
            try await restarted
        }
    }

    /// Returns when Redis has refused some commands since, so that a worker has met the fault.
    private func refused() async throws {
        func errors() async -> Int? {
            try? await store.redis.total("total_error_replies", of: "stats")
        }
        var before: Int?
        try await eventually("a command was refused") {
            guard let count = await errors() else { return false }
            before = before ?? count
            return count > (before ?? count) + 3
        }
    }
}
