import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Fanout
@testable import Store

/// Counts what a worker asks of Redis while nothing happens. `bin/bench idle` has the whole deployment.
@Suite struct IdleCostTests {
    @Test func `an idle worker asks Redis for little between two heartbeats`() async throws {
        let fixture = try await WorkerFixture.start()
        let redis = fixture.store.redis
        guard !redis.isCluster else { return }
        try await fixture.withWorker(ScriptedTransport()) {
            try await eventually("it is ready") { try await redis.calls(of: "xreadgroup") > 0 }
            let before = try await redis.calls()
            var after = before
            try await eventually("some heartbeats", within: .seconds(120)) {
                after = try await redis.calls()
                return after["hset"] ?? 0 >= 10 + (before["hset"] ?? 0)
            }
            let others = ["info", "client", "script", "xautoclaim"]
            // A worker that has just started claims for a while (`ClaimPlanTests`).
            let asked = after.merging(before) { $0 - $1 }.filter { name, _ in !others.contains { name.hasPrefix($0) } }
            // Each heartbeat is an HSET, some looks at the clock are another one.
            let beats = asked["hset"] ?? 0
            #expect(asked.values.reduce(0, +) <= 14 * beats, "\(asked)")
        }
    }

    @Test func `the turns of tidying ask little for apps that have names and nothing else`() async throws {
        let fixture = try await WorkerFixture.start()
        let (store, redis) = (fixture.store, fixture.store.redis)
        guard !redis.isCluster else { return }
        _ = try await fixture.track(0..<20)
        let apps = [fixture.app] + (0..<50).map { try! AppKey("app-\($0)") }
        var tidying = Tidying(store)
        func turns(_ count: Int) async throws -> Int {
            let before = try await asked()
            for _ in 0..<count {
                let lists = try await tidying.begin(apps)
                for app in apps { try await tidying.run(app, lists[app] ?? [], mostPushes: 1_000_000) }
            }
            return try await asked() - before
        }
        func asked() async throws -> Int {
            try await redis.calls().filter { name, _ in
                !["info", "client", "script"].contains { name.hasPrefix($0) }
            }.values.reduce(0, +)
        }
        // The first turn measures the pushes of each app.
        _ = try await turns(1)
        let turn = Double(try await turns(100)) / 100
        // Ten seconds each. The index of channels is looked at in one turn of ten.
        #expect(turn / 10 <= 0.2 * Double(apps.count), "\(turn)")
    }
}
