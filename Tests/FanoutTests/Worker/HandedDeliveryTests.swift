import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Fanout
@testable import Store

/// Workers send what an acceptance has begun for them.
@Suite(.enabled(if: !RedisServer.isCluster)) struct HandedDeliveryTests {
    private func publish(
        _ fixture: WorkerFixture, label: String = "", every interval: Duration = .zero, lease: Duration = .seconds(30)
    ) async throws -> PushID {
        let id = PushID.ordered(at: nowMilliseconds(), index: 0)
        let acceptance = try await fixture.store.pushes.accept(
            fixture.app, Publish(name: fixture.name, event: .update, audience: .all), id: id,
            payload: Array(#"{"aps":{"timestamp":0000000000},"label":"\#(label)"}"#.utf8), timestampOffset: 20,
            handing: Handing(minInterval: interval, lease: lease, budget: HighBudget()))
        guard case .accepted = acceptance else { throw WorkerFixtureError(description: "\(acceptance)") }
        return id
    }

    private func handedFields(_ fixture: WorkerFixture) async throws -> Int {
        try await fixture.store.redis.send(RedisCommand("HEXISTS", fixture.key(Keyspace.name), "handed")).integer()
    }

    private func start(keeps: Bool = false) async throws -> WorkerFixture {
        let fixture = try await WorkerFixture.start(keeps: keeps)
        try await fixture.track(0..<3)
        try await fixture.store.queue.prepare([fixture.app])
        return fixture
    }

    /// Reads the name's entry, and dies.
    private func readAndDie(_ fixture: WorkerFixture) async throws {
        let reader = fixture.reader()
        defer { reader.close() }
        let (entries, _) = try await reader.read(
            .namesHigh, [fixture.app], consumer: "dead", count: 1, block: .seconds(5))
        #expect(entries.first?.handed != nil)
    }

    @Test func `each token gets it once`() async throws {
        let fixture = try await start()
        let transport = ScriptedTransport()
        try await fixture.withWorker(transport) { () async throws in
            for _ in 0..<5 { #expect(try await fixture.finished(try await publish(fixture)).delivered == 3) }
        }
        #expect(transport.counts.count == 3 && transport.counts.values.allSatisfy { $0 == 5 })
    }

    @Test func `a worker takes over from one that read the entry and died`() async throws {
        let fixture = try await start()
        let id = try await publish(fixture, lease: .milliseconds(1))
        try await readAndDie(fixture)
        try await fixture.isLater(than: nowMilliseconds() + 1)
        try await fixture.ageEntries(.namesHigh)
        let transport = ScriptedTransport()
        let ledger = try await fixture.withWorker(transport) { try await fixture.finished(id) }
        #expect(ledger.delivered == 3 && ledger.targets == 3 && transport.total == 3)
    }

    @Test func `an entry that waited is sent with the tokens of now`() async throws {
        let fixture = try await start()
        let id = try await publish(fixture)
        try await fixture.isLater(than: nowMilliseconds() + HandedPush.life + 200)
        #expect(try await handedFields(fixture) == 1)
        let transport = ScriptedTransport()
        let ledger = try await fixture.withWorker(transport) { try await fixture.finished(id) }
        #expect(ledger.delivered == 3 && transport.total == 3)
    }

    @Test func `an update that was taken back is superseded, and the newer one goes out`() async throws {
        let fixture = try await start()
        let ids = [try await publish(fixture, label: "1"), try await publish(fixture, label: "2")]
        let transport = ScriptedTransport()
        try await fixture.withWorker(transport) { () async throws in
            #expect(try await fixture.finished(ids[1]).delivered == 3)
            #expect(try await fixture.finished(ids[0]).state == .superseded)
        }
        #expect(transport.taken.values.allSatisfy { $0 == ["2"] } && transport.total == 3)
    }

    @Test func `what a pause holds back goes out when it ends`() async throws {
        let fixture = try await start()
        #expect(try await fixture.store.pauses.pause(fixture.app, nil))
        let id = try await publish(fixture)
        let transport = ScriptedTransport()
        try await fixture.withWorker(transport) {
            let item = WorkItem(app: fixture.app, name: fixture.name, push: id, priority: .high, part: .name)
            try await eventually("it is put off") {
                let due = fixture.store.keys.due(of: item)
                return try await !fixture.store.redis.send(RedisCommand("ZSCORE", due, .string(item.member))).isNil
            }
            #expect(try await handedFields(fixture) == 0)
            let ledger = try await fixture.store.pushes.ledger(fixture.app, id)
            #expect(ledger?.state == .queued && transport.total == 0)
            #expect(try await fixture.store.pauses.resume(fixture.app, nil))
            try await fixture.store.queue.schedule(item, due: nowMilliseconds())
            #expect(try await fixture.finished(id).delivered == 3)
        }
        #expect(transport.total == 3)
    }

    @Test func `an update that is cancelled before its worker comes reaches nobody`() async throws {
        let fixture = try await start()
        let id = try await publish(fixture)
        #expect(try await fixture.store.pushes.cancel(fixture.app, id)?.state == .cancelled)
        let transport = ScriptedTransport()
        let next = try await fixture.withWorker(transport) {
            try await fixture.finished(try await publish(fixture, label: "next"))
        }
        #expect(next.delivered == 3 && transport.taken.values.allSatisfy { $0 == ["next"] })
    }

    @Test func `a restart of Redis loses none`() async throws {
        let fixture = try await start(keeps: true)
        let id = try await publish(fixture)
        try await fixture.server.restart()
        let transport = ScriptedTransport()
        let ledger = try await fixture.withWorker(transport) { try await fixture.finished(id) }
        #expect(ledger.delivered == 3 && transport.total == 3)
    }
}
