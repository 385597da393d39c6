import LiveActivity
import Testing

@testable import Store

@Suite struct HeartbeatsTests {
    private func heart(_ worker: String, at: Int64, from start: Int64) -> Heartbeat {
        Heartbeat(worker: worker, at: at, startedAt: start, loads: [:])
    }

    @Test func `a worker that was killed is gone once another one of its name was started`() {
        let killed = heart("one-01a21502", at: 5_000, from: 1_000)
        let again = heart("one-01a21599", at: 9_000, from: 8_000)
        let other = heart("two-01a21503", at: 5_000, from: 1_000)
        #expect(Heartbeats.present([killed, other]) == [killed, other])
        #expect(Heartbeats.present([killed, again, other]) == [again, other])
    }

    @Test func `two that live with one name are both there`() {
        let (first, second) = (
            heart("one-01a21502", at: 9_500, from: 1_000), heart("one-01a21599", at: 9_000, from: 8_000)
        )
        #expect(Heartbeats.present([first, second]) == [first, second])
    }

    @Test func `heartbeats from before the clock was set back hide nobody`() async throws {
        let fixture = try await PushFixture.start()
        let now: Int64 = 100_000
        let killed = heart("one-01a21502", at: now + 60_000, from: now + 50_000)
        let again = heart("one-01a21599", at: now, from: now - 5_000)
        for heartbeat in [killed, again] { try await fixture.store.heartbeats.write(heartbeat) }
        #expect(try await fixture.store.heartbeats.list(now: now).map(\.worker) == [again.worker])
        #expect(!killed.isFresh(now: now) && again.isFresh(now: now))
        // Two measurements of Redis's clock differ a little.
        #expect(heart("one-01a21599", at: now + 1_000, from: 0).isFresh(now: now))
    }

    @Test func `a worker is seen by its heartbeat or by what it read, whichever is later`() async throws {
        let fixture = try await PushFixture.start()
        let store = fixture.store
        try await store.queue.prepare([fixture.app])
        let item = WorkItem(
            app: fixture.app, name: try ActivityName("match-1"), push: .random(), priority: .high, part: .name)
        try await store.queue.add([item])
        let reader = try fixture.reader()
        defer { reader.close() }
        _ = try await reader.read(.namesHigh, [fixture.app], consumer: "reads-00000001", count: 1, block: .seconds(1))
        func beat(_ worker: String, _ app: AppKey, ago: Int64) async throws {
            let now = store.time.now()
            try await store.heartbeats.write(
                Heartbeat(worker: worker, at: now - ago, startedAt: now - 5_000_000, loads: [app: .init()]))
        }
        try await beat("reads-00000001", fixture.app, ago: 2_000_000)
        try await beat("sends-00000001", fixture.app, ago: 0)
        try await beat("silent-00000001", fixture.app, ago: 1_000_000)
        try await beat("elsewhere-00000001", try AppKey("other"), ago: 0)
        let workers = try await store.workers([fixture.app])
        #expect(workers.map(\.name) == ["reads-00000001", "sends-00000001", "silent-00000001"])
        #expect(workers.map(\.pending) == [1, 0, 0])
        #expect(workers.map { $0.idle < 900_000 } == [true, true, false])
    }

    @Test func `a push that waits is listed after those that are sent`() async throws {
        let fixture = try await PushFixture.start()
        let waiting = try await fixture.accepted("match-1")
        try await fixture.track("match-2", count: 3)
        _ = try await fixture.claimed("match-2", try await fixture.accepted("match-2"))
        _ = try await fixture.accepted("match-2")
        let pushes = try await fixture.store.queue.underWay([fixture.app], limit: 10)
        #expect(pushes.map(\.name.rawValue) == ["match-2", "match-1"])
        #expect(pushes.map(\.isWaiting) == [false, true])
        #expect(pushes.last?.id == waiting)
    }
}
