import APNsWire
import Delivery
import LiveActivity
import Redis
import Synchronization
import TestSupport
import Testing

@testable import Fanout
@testable import Store

/// Tests waiting channels while pushes go on and registrations change.
@Suite struct WaitingTests {
    static func busy(retryAfter: Int? = nil) -> PushOutcome {
        .rejected(Rejection(status: 429, reason: .known(.tooManyRequests), retryAfter: retryAfter))
    }

    /// Token 0 is busy at its first attempt, and waits until the test says `retryNow`.
    private static func firstAttemptIsBusy() -> ScriptedTransport {
        ScriptedTransport { token, attempt in
            WorkerFixture.number(token) == 0 && attempt == 1 ? busy(retryAfter: 600) : .accepted
        }
    }

    @Test func `an alert that waits goes before the update that passed it`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<3)
        let isBusy = Atomic(true)
        let transport = ScriptedTransport(byLabel: { token, label, _ in
            WorkerFixture.number(token) == 0 && label == "alert" && isBusy.load(ordering: .relaxed)
                ? Self.busy(retryAfter: 600) : .accepted
        })
        let (alert, update) = try await fixture.withWorker(transport) {
            let alert = try await fixture.publish(label: "alert")
            await transport.answered(3)
            let update = try await fixture.publish(alert: false, label: "update")
            try await fixture.swept(update)
            #expect(transport.taken(1) == ["alert", "update"] && transport.taken(2) == ["alert", "update"])
            #expect(!transport.requests.contains { WorkerFixture.number($0.token) == 0 && $0.label == "update" })
            isBusy.store(false, ordering: .relaxed)
            try await fixture.retryNow()
            return (try await fixture.finished(alert), try await fixture.finished(update))
        }
        #expect(transport.taken(0) == ["alert", "update"])
        #expect(alert.delivered == 3 && update.delivered == 3 && update.targets == 3 && update.superseded == 0)
    }

    @Test func `a retry carries the newest state at the time that the server named`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.track(0..<2)
        let transport = ScriptedTransport(byLabel: { token, label, _ in
            WorkerFixture.number(token) == 0 && label == "0" ? Self.busy(retryAfter: 600) : .accepted
        })
        let before = nowMilliseconds()
        let ledgers = try await fixture.withWorker(transport) {
            var ledgers: [Ledger] = []
            var ids: [PushID] = []
            for number in 0..<4 {
                ids.append(try await fixture.publish(alert: false, label: "\(number)"))
                try await fixture.swept(ids[number])
            }
            let due = RedisCommand("ZSCORE", fixture.key(Keyspace.waitingChannels), .bytes(channels[0].stored))
            #expect(try await Int64(fixture.store.redis.send(due).string()) ?? 0 >= before + 600_000)
            #expect(
                transport.requests.count { WorkerFixture.number($0.token) == 0 } == 1,
                "Retry-After holds for the pushes behind too")
            try await fixture.retryNow()
            for id in ids { ledgers.append(try await fixture.finished(id)) }
            return ledgers
        }
        let labels = transport.requests.filter { WorkerFixture.number($0.token) == 0 }.map { $0.label }
        #expect(labels == ["0", "3"])
        #expect(transport.taken(1) == ["0", "1", "2", "3"])
        #expect(ledgers.map { $0.superseded } == [1, 1, 1, 0])
        #expect(ledgers.last?.delivered == 2)
        #expect(ledgers.allSatisfy { $0.state == .done && $0.targets == 2 && $0.delivered + $0.superseded == 2 })
    }

    /// A worker may die after any call of Redis. Channels that an unsettled page had brought to their queues could get
    /// the push and leave their queues before the next owner read the page, and were counted twice then.
    @Test func `a page whose channels join queues is settled by one call`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<1_200)
        let transport = ScriptedTransport(byLabel: { _, label, attempt in
            label == "first" && attempt == 1 ? Self.busy(retryAfter: 600) : .accepted
        })
        let redis = fixture.store.redis
        try await fixture.withWorker(transport) {
            try await fixture.swept(try await fixture.publish(label: "first"))
            _ = try await redis.send(
                RedisCommand("CONFIG", ["SET", "slowlog-log-slower-than", "0", "slowlog-max-len", "10000"]))
            let id = try await fixture.publish(label: "second")
            try await fixture.swept(id)
            var pages: [[UInt8]] = []
            for entry in try await redis.send(RedisCommand("SLOWLOG", ["GET", "10000"])).array() {
                let call = try entry.array()[3].array().map { try $0.bytes() }
                guard call.count > 14, call[1].elementsEqual(Lua.taskSettle.digest.utf8) else { continue }
                // Behind the keys: the push, its shard, the lease, and the page's positions.
                pages.append(Array(call[14].prefix(100)))
            }
            #expect(pages.count >= 4 && Set(pages).count == pages.count, "\(pages.count) calls")
            let ledger = try #require(try await fixture.store.pushes.ledger(fixture.app, id))
            #expect(ledger.targets == 1_200 && ledger.pending == 1_200)
        }
    }

    @Test func `untracked while it waits a channel is skipped`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.track(0..<2)
        let transport = Self.firstAttemptIsBusy()
        let ledger = try await fixture.withWorker(transport) {
            let id = try await fixture.publish()
            try await fixture.swept(id)
            try await fixture.untrack(channels[0])
            try await fixture.retryNow()
            return try await fixture.finished(id)
        }
        #expect(ledger.skipped == 1 && ledger.delivered == 1 && transport.total == 2)
    }

    @Test func `rotated while it waits a channel is sent to at its new token`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.track(0..<2)
        let transport = Self.firstAttemptIsBusy()
        let ledger = try await fixture.withWorker(transport) {
            let id = try await fixture.publish()
            try await fixture.swept(id)
            try await fixture.track(channels[0], 100)
            try await fixture.retryNow()
            return try await fixture.finished(id)
        }
        #expect(ledger.delivered == 2 && ledger.targets == 2)
        #expect(transport.counts.mapKeys(WorkerFixture.number) == [0: 1, 1: 1, 100: 1])
    }

    /// The attempt ran with the old token, and succeeds. The new token must get the push too.
    @Test func `rotated during its retry a channel is sent to again`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.track(0..<1)
        let transport = Self.firstAttemptIsBusy()
        let ledger = try await fixture.withWorker(transport) {
            let id = try await fixture.publish()
            try await fixture.swept(id)
            transport.hold()
            try await fixture.retryNow()
            await transport.holding(pages: 1)
            try await fixture.track(channels[0], 100)
            transport.letGo()
            return try await fixture.finished(id)
        }
        #expect(ledger.delivered == 1 && ledger.targets == 1)
        #expect(transport.counts.mapKeys(WorkerFixture.number) == [0: 2, 100: 1])
    }

    @Test func `cancelled with channels that wait a push is over`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<3)
        let transport = ScriptedTransport(byLabel: { token, label, _ in
            WorkerFixture.number(token) == 0 && label == "alert" ? Self.busy(retryAfter: 600) : .accepted
        })
        let (alert, update) = try await fixture.withWorker(transport) {
            let alert = try await fixture.publish(label: "alert")
            try await fixture.swept(alert)
            let update = try await fixture.publish(alert: false, label: "update")
            try await fixture.swept(update)
            let cancelled = try await fixture.store.pushes.cancel(fixture.app, alert)
            #expect(cancelled?.state == .cancelled && cancelled?.skipped == 1 && cancelled?.pending == 0)
            try await fixture.retryNow()
            return (try await fixture.finished(alert), try await fixture.finished(update))
        }
        #expect(transport.taken(0) == ["update"])
        #expect(alert.skipped == 1 && alert.delivered == 2 && update.delivered == 3)
    }

    @Test func `what stops a push in its retry stops it whole`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<3)
        let transport = ScriptedTransport(byLabel: { token, label, attempt in
            if label == "bad", attempt == 2 { return .rejected(Rejection(status: 400, reason: .known(.badTopic))) }
            return label == "bad" ? Self.busy() : .accepted
        })
        let (bad, good) = try await fixture.withWorker(transport) {
            let bad = try await fixture.finished(try await fixture.publish(label: "bad"))
            return (bad, try await fixture.finished(try await fixture.publish(label: "good")))
        }
        #expect(bad.state == .failed && bad.failed == 3 && bad.pending == 0, "\(bad)")
        #expect(good.state == .done && good.delivered == 3)
    }

    @Test func `dead tokens found by a retry are pruned`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<4)
        let transport = ScriptedTransport { token, attempt in
            if attempt == 1 { return Self.busy() }
            return WorkerFixture.number(token) == 0
                ? .rejected(Rejection(status: 400, reason: .known(.badDeviceToken))) : .accepted
        }
        let ledger = try await fixture.withWorker(transport) {
            try await fixture.finished(try await fixture.publish())
        }
        #expect(ledger.pruned == 1 && ledger.delivered == 3 && ledger.errors["BadDeviceToken"] == 1)
        #expect(try await fixture.store.names.info(fixture.app, fixture.name)?.tokens == 3)
    }

    @Test func `many that wait are sent to several pages at a time`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<5_500)
        let transport = ScriptedTransport { _, attempt in attempt == 1 ? Self.busy() : .accepted }
        let ledger = try await fixture.withWorker(transport) {
            try await fixture.finished(try await fixture.publish())
        }
        #expect(ledger.delivered == 5_500 && ledger.retries == 5_500 && transport.total == 11_000)
    }
}

extension Dictionary {
    func mapKeys<K: Hashable>(_ body: (Key) -> K) -> [K: Value] {
        Dictionary<K, Value>(uniqueKeysWithValues: map { (body($0.key), $0.value) })
    }
}
