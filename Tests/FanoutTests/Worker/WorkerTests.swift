import APNsClient
import APNsWire
import Delivery
import Foundation
import LiveActivity
import ServiceLifecycle
import Store
import Synchronization
import TestSupport
import Testing

@testable import Fanout

func nowMilliseconds() -> Int64 { wallClock() }

@Suite struct WorkerTests {
    @Test func `one follower is lit`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<1)
        let transport = ScriptedTransport()
        let ledger = try await fixture.withWorker(transport) {
            try await fixture.finished(try await fixture.publish())
        }
        #expect(ledger.state == .done && ledger.targets == 1 && ledger.delivered == 1 && ledger.expanded)
        let push = try #require(transport.pushes(to: [0, 0, 0, 0]).first)
        #expect(push.value("apns-topic") == "com.example.shop.push-type.liveactivity")
        #expect(!String(decoding: push.payload, as: UTF8.self).contains("0000000000"), "the timestamp is filled in")
    }

    @Test func `a task of another part begins with the worker and ends when it drains`() async throws {
        let fixture = try await WorkerFixture.start()
        let steps = Mutex<[String]>([])
        let task: @Sendable () async -> Void = {
            steps.withLock { $0.append("begins") }
            try? await cancelWhenGracefulShutdown { try await Task.sleep(for: .seconds(600)) }
            steps.withLock { $0.append("ends") }
        }
        try await fixture.withWorker(tasks: [task]) {
            try await eventually("it begins") { steps.withLock { $0 == ["begins"] } }
        }
        #expect(steps.withLock(\.self) == ["begins", "ends"])
    }

    @Test func `nobody follows and the push is done`() async throws {
        let fixture = try await WorkerFixture.start()
        let ledger = try await fixture.withWorker(ScriptedTransport()) {
            try await fixture.finished(try await fixture.publish())
        }
        #expect(ledger.state == .done && ledger.targets == 0)
    }

    @Test func `a large name is shared and each token is sent once`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<8_000)
        let (first, second) = (ScriptedTransport(), ScriptedTransport())
        first.hold()
        second.hold()
        // Each worker has permits for a part of the shards, and cannot claim more while its pages are held.
        let ledger = try await fixture.withWorker(first, concurrency: 1) {
            try await fixture.withWorker(second, concurrency: 1) {
                let id = try await fixture.publish()
                await first.holding(pages: 1)
                await second.holding(pages: 1)
                first.letGo()
                second.letGo()
                return try await fixture.finished(id)
            }
        }
        #expect(ledger.state == .done && ledger.targets == 8_000 && ledger.delivered == 8_000)
        let counts = first.counts.merging(second.counts, uniquingKeysWith: +)
        #expect(counts.count == 8_000 && counts.values.allSatisfy { $0 == 1 })
        #expect(first.total > 0 && second.total > 0, "both workers had a part")
    }

    @Test func `only the audience is sent to`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.track(0..<500)
        var change = TagChange()
        change.add = ["device": ["vip"]]
        try await fixture.store.channels.tag(fixture.app, Array(channels[..<120]), change)
        try await fixture.store.channels.associate(fixture.app, channels[200], namedUser: "ann")
        let audience = Audience.or([
            .and([.tag("vip", group: "device"), .not(.channel(channels[7]))]), .namedUser("ann"),
        ])
        let transport = ScriptedTransport()
        let ledger = try await fixture.withWorker(transport) {
            try await fixture.finished(try await fixture.publish(audience))
        }
        #expect(ledger.targets == 120 && ledger.delivered == 120)
        #expect(Set(transport.counts.keys.map(WorkerFixture.number)) == Set(0..<120).subtracting([7]).union([200]))
    }

    @Test func `dead tokens are pruned and the next push reaches the living`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<400)
        let transport = ScriptedTransport { token, _ in
            let number = WorkerFixture.number(token)
            if number % 10 == 0 {
                return .rejected(Rejection(status: 410, reason: .known(.unregistered), timestamp: nowMilliseconds()))
            }
            if number % 10 == 1 { return .rejected(Rejection(status: 400, reason: .known(.badDeviceToken))) }
            if number % 10 == 2 {
                // The token died before its registration, so a device registered it again.
                return .rejected(Rejection(status: 410, reason: .known(.unregistered), timestamp: 1_700_000_000_000))
            }
            return .accepted
        }
        let (first, second) = try await fixture.withWorker(transport) {
            let first = try await fixture.finished(try await fixture.publish())
            return (first, try await fixture.finished(try await fixture.publish()))
        }
        #expect(first.delivered == 280 && first.pruned == 80 && first.failed == 40 && first.pending == 0)
        #expect(first.errors == ["Unregistered": 80, "BadDeviceToken": 40])
        #expect(second.targets == 320 && second.delivered == 280 && second.failed == 40)
        let info = try await fixture.store.names.info(fixture.app, fixture.name)
        #expect(info?.tokens == 320)
    }

    @Test func `busy answers are repeated until they pass or used up`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<100)
        let transport = ScriptedTransport { token, attempt in
            switch WorkerFixture.number(token) {
            case 0..<20 where attempt <= 2: .rejected(Rejection(status: 429, reason: .known(.tooManyRequests)))
            case 20..<25: .rejected(Rejection(status: 503, reason: .known(.serviceUnavailable)))
            case 25..<30 where attempt == 1: .unanswered(NoAnswer(.timeout, mayHaveBeenDelivered: true))
            default: .accepted
            }
        }
        let ledger = try await fixture.withWorker(transport) {
            try await fixture.finished(try await fixture.publish())
        }
        #expect(ledger.delivered == 95 && ledger.failed == 5 && ledger.targets == 100 && ledger.pending == 0)
        #expect(ledger.retries == 20 * 2 + 5 * 3 + 5 && ledger.duplicatesPossible == 5)
        #expect(ledger.errors == ["TooManyRequests": 40, "ServiceUnavailable": 20, "Timeout": 5])
    }

    @Test func `one odd answer stops no push`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<300)
        let odd = [301, 404, 408, 421, 999]
        let transport = ScriptedTransport { token, attempt in
            let number = WorkerFixture.number(token)
            guard number < odd.count, attempt == 1 else { return .accepted }
            return .rejected(
                Rejection(status: odd[number], reason: RejectionReason(wire: "", status: odd[number])))
        }
        let ledger = try await fixture.withWorker(transport, claimAfter: .seconds(60), pageSize: 10) {
            try await fixture.finished(try await fixture.publish())
        }
        #expect(ledger.state == .done && ledger.delivered == 300 && ledger.retries == odd.count, "\(ledger)")
        #expect(ledger.errors == Dictionary(uniqueKeysWithValues: odd.map { ("HTTP\($0)", 1) }))
    }

    @Test func `a bad payload stops the push early and the name goes on`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<6_000)
        let isBad = Atomic(true)
        let transport = ScriptedTransport { _, _ in
            isBad.load(ordering: .relaxed) ? .rejected(Rejection(status: 400, reason: .known(.badTopic))) : .accepted
        }
        let (first, second) = try await fixture.withWorker(transport) {
            let first = try await fixture.finished(try await fixture.publish())
            isBad.store(false, ordering: .relaxed)
            return (first, try await fixture.finished(try await fixture.publish()))
        }
        #expect(first.state == .failed && first.errors["BadTopic", default: 0] > 0)
        #expect(transport.total < 12_000, "the rest was not tried")
        #expect(second.state == .done && second.delivered == 6_000)
    }

    @Test func `an outage keeps the push and spends no attempts`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<50)
        let isDown = Atomic(true)
        let transport = ScriptedTransport { _, _ in
            isDown.load(ordering: .relaxed)
                ? .unanswered(NoAnswer(.connectionFailed, mayHaveBeenDelivered: false)) : .accepted
        }
        let ledger = try await fixture.withWorker(transport) {
            let id = try await fixture.publish()
            await transport.answered(50)
            isDown.store(false, ordering: .relaxed)
            return try await fixture.finished(id)
        }
        #expect(ledger.state == .done && ledger.delivered == 50 && ledger.targets == 50 && ledger.retries == 0)
        #expect(try await fixture.store.alarms.list([fixture.app]).isEmpty, "the alarm is taken back")
    }

    @Test func `an expired push is not sent`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<10)
        let transport = ScriptedTransport()
        let expiry = Int(nowMilliseconds() / 1_000) - 5
        let ledger = try await fixture.withWorker(transport) {
            try await fixture.finished(try await fixture.publish(expiry: expiry))
        }
        #expect(ledger.state == .expired && ledger.expired == 10 && transport.total == 0)
    }

    @Test func `asked to stop a worker settles what is in flight and hands back the rest`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<9_000)
        let leaving = ScriptedTransport()
        leaving.hold()
        let id: PushID = try await fixture.withLeavingWorker(leaving) { try await fixture.publish() }
        let half = try #require(try await fixture.store.pushes.ledger(fixture.app, id))
        #expect(half.delivered == leaving.total && half.delivered < 9_000 && half.pending == 0)
        let staying = ScriptedTransport()
        let ledger = try await fixture.withWorker(staying) { try await fixture.finished(id) }
        #expect(ledger.state == .done && ledger.delivered == 9_000 && ledger.targets == 9_000)
        #expect(leaving.total + staying.total == 9_000, "nothing was sent twice")
    }

    @Test func `another worker finishes the work of one that died`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<300)
        let id = try await fixture.publish()
        // A worker reads, begins the push and dies. The entry is pending, and the lease runs for ten minutes.
        try await fixture.store.queue.prepare([fixture.app])
        let reader = fixture.reader()
        let (entries, _) = try await reader.read(
            .namesHigh, [fixture.app], consumer: "dead", count: 1, block: .seconds(1))
        #expect(entries.count == 1)
        let (begun, _) = try await fixture.store.sweeps.begin(
            fixture.app, fixture.name, expecting: id, owner: "dead", lease: .seconds(600))
        #expect(begun.isClaimed)
        reader.close()
        let early = ScriptedTransport()
        try await fixture.ageEntries(.namesHigh)
        try await fixture.withWorker(early) { try await fixture.takenOver(times: 2) }
        #expect(early.total == 0, "the lease may be a living worker's")
        try await fixture.endLease(id)
        try await fixture.ageEntries(.namesHigh)
        let transport = ScriptedTransport()
        let ledger = try await fixture.withWorker(transport) { try await fixture.finished(id) }
        #expect(ledger.delivered == 300 && transport.total == 300)
    }

    @Test func `Redis may be killed and come back`() async throws {
        let fixture = try await WorkerFixture.start(keeps: true)
        try await fixture.track(0..<3_000)
        let transport = ScriptedTransport()
        // The kill may lose an entry on its way to the worker, so the worker claims it later.
        let ledger = try await fixture.withWorker(transport, claimAfter: .seconds(3)) {
            let id = try await fixture.publish()
            await transport.answered(1)
            fixture.server.signal(SIGKILL)
            try await fixture.server.restart()
            return try await fixture.finished(id)
        }
        #expect(ledger.state == .done && ledger.delivered == 3_000 && ledger.targets == 3_000)
    }
}

extension WorkerFixture {
    /// Publishes to a worker whose pages are held, stops the worker with pages in flight, and lets them go.
    fileprivate func withLeavingWorker(
        _ transport: ScriptedTransport, _ body: @Sendable () async throws -> PushID
    ) async throws -> PushID {
        let group = group(transport)
        async let running: Void = group.run()
        let id = try await body()
        await transport.holding(pages: 4)
        await group.triggerGracefulShutdown()
        transport.letGo()
        try await running
        return id
    }
}
