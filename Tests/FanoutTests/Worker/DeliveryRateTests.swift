import LiveActivity
import Redis
import ServiceLifecycle
import TestSupport
import Testing

@testable import Fanout
@testable import Store

/// A cap of the delivery rate, which all workers share.
@Suite struct DeliveryRateTests {
    private let id = PushID.random()

    @Test func `turns follow each other at the rate, and one that is too late is not taken`() async throws {
        let fixture = try await WorkerFixture.start()
        let (rates, app) = (fixture.store.deliveryRates, fixture.app)
        let rate = try #require(DeliveryRate(ofApp: 1, ofPush: 0))
        let first = try await rates.take(app, id, tokens: 1_000, rate, horizon: .seconds(2))
        #expect(first.isTaken && first.wait == .zero)
        // A busy machine may have used up some of the 1,000 seconds.
        let second = try await rates.take(app, id, tokens: 1, rate, horizon: .seconds(2))
        #expect(!second.isTaken && second.wait > .seconds(500))
        let patient = try await rates.take(app, .random(), tokens: 1_000, rate, horizon: .seconds(1_500))
        #expect(patient.isTaken && patient.wait > .seconds(500))
        let next = try await rates.take(app, id, tokens: 1, rate, horizon: .zero)
        #expect(!next.isTaken && next.wait > .seconds(1_500))
        #expect(try await rates.take(try AppKey("other"), id, tokens: 1, rate, horizon: .zero).isTaken)
    }

    @Test func `the smaller cap holds, and that of a push is for itself`() async throws {
        let fixture = try await WorkerFixture.start()
        let (rates, app) = (fixture.store.deliveryRates, fixture.app)
        let rate = try #require(DeliveryRate(ofApp: 1_000_000, ofPush: 1))
        #expect(rate.slice == 1 && DeliveryRate(ofApp: 0, ofPush: 0) == nil)
        #expect(try await rates.take(app, id, tokens: 1_000, rate, horizon: .zero).isTaken)
        #expect(try await !rates.take(app, id, tokens: 1, rate, horizon: .seconds(2)).isTaken)
        #expect(try await rates.take(app, .random(), tokens: 1_000, rate, horizon: .seconds(2)).isTaken)
    }

    @Test func `two workers under a cap reach each token once, and not faster`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<1_000)
        let rate = DeliveryRate(ofApp: 500, ofPush: 0)
        let transport = ScriptedTransport()
        let began = ContinuousClock.now
        let ledger = try await fixture.withWorker(transport, rate: rate) {
            try await fixture.withWorker(transport, rate: rate) {
                try await fixture.finished(try await fixture.publish())
            }
        }
        #expect(ledger.delivered == 1_000 && transport.total == 1_000)
        // The last turn begins when the time of all others is over. It has fewer than 400 tokens.
        #expect(ContinuousClock.now - began >= .milliseconds(1_200))
    }

    @Test func `a worker that stops gives a waiting page back at once`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<1_000)
        let slow = ScriptedTransport()
        let id = try await fixture.withWorker(slow, rate: DeliveryRate(ofApp: 1, ofPush: 0)) {
            let id = try await fixture.publish()
            try await eventually("the first page is sent") { slow.total > 0 }
            return id
        }
        #expect(slow.total < 500)
        // Without a cap another worker sends the rest.
        let rest = ScriptedTransport()
        let ledger = try await fixture.withWorker(rest) { try await fixture.finished(id) }
        #expect(ledger.delivered == 1_000 && slow.total + rest.total == 1_000)
    }

    @Test func `a cap that is lifted while a push waits lets the rest go at once`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<1_000)
        let transport = ScriptedTransport()
        var options = WorkerOptions(name: "w")
        options.claimAfter = WorkerFixture.patience
        let app = WorkerApp(
            key: fixture.app, bundleID: "com.example.shop", transport: transport,
            rate: DeliveryRate(ofApp: 1, ofPush: 0))
        let worker = Worker(store: fixture.store, apps: [app], options: options, logger: .quiet)
        let group = ServiceGroup(configuration: .init(services: [.init(service: worker)], logger: .quiet))
        async let running: Void = group.run()
        let id = try await fixture.publish()
        try await eventually("the first page is sent") { transport.total > 0 }
        #expect(transport.total < 500)
        worker.reload(options)
        #expect(try await fixture.finished(id).delivered == 1_000 && transport.total == 1_000)
        await group.triggerGracefulShutdown()
        try await running
    }

    @Test func `a small push does not wait for the end of a large one`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<6_000)
        let other = try ActivityName("match-2")
        let channel = ChannelID.random()
        let registration = Registration(
            channel: channel, token: try #require(WorkerFixture.token(9_000)), registeredAt: nowMilliseconds())
        _ = try await fixture.store.registry.track(fixture.app, .activity(other), [registration])
        let transport = ScriptedTransport()
        try await fixture.withWorker(transport, rate: DeliveryRate(ofApp: 1_000, ofPush: 0)) {
            let large = try await fixture.publish()
            try await eventually("the large push is under way") { transport.total > 0 }
            #expect(try await fixture.finished(try await fixture.publish(to: other)).delivered == 1)
            #expect(try await fixture.store.pushes.ledger(fixture.app, large)?.state == .sending)
            #expect(try await fixture.finished(large).delivered == 6_000)
        }
    }

    @Test(arguments: [1, 3, 6])
    func `a small push does not starve behind many large ones, whatever the number of workers`(
        workers: Int
    ) async throws {
        let fixture = try await WorkerFixture.start()
        let large = try (0..<6).map { try ActivityName("large-\($0)") }
        for (index, name) in large.enumerated() {
            let registrations = try (0..<2_000).map { number in
                Registration(
                    channel: .random(), token: try #require(WorkerFixture.token(10_000 * (index + 1) + number)),
                    registeredAt: nowMilliseconds() - 60_000)
            }
            _ = try await fixture.store.registry.track(fixture.app, .activity(name), registrations)
        }
        try await fixture.track(0..<1)
        let transport = ScriptedTransport()
        let rate = DeliveryRate(ofApp: 800, ofPush: 0)
        try await withWorkers(workers, fixture, transport, rate) {
            for name in large { _ = try await fixture.publish(to: name) }
            // The pages of the large pushes have waited for long by then.
            try await eventually("the large pushes are under way") { transport.total > 3_000 }
            for _ in 0..<4 {
                let sent = transport.total
                _ = try await fixture.finished(try await fixture.publish())
                #expect(transport.total - sent < 2_500, "large pushes that went before it")
            }
            #expect(transport.total < 12_000, "the large pushes still wait")
        }
    }

    @Test func `a page that has waited long has a part of the rate to itself`() async throws {
        let fixture = try await WorkerFixture.start()
        let (rates, app) = (fixture.store.deliveryRates, fixture.app)
        let rate = try #require(DeliveryRate(ofApp: 1, ofPush: 0))
        // Small pushes have filled the queue of turns.
        _ = try await rates.take(app, id, tokens: 1_000, rate, horizon: .zero)
        let hour = Duration.seconds(3_600)
        #expect(try await !rates.take(app, id, tokens: 100, rate, horizon: .zero).isTaken)
        #expect(try await rates.take(app, id, tokens: 100, rate, horizon: .zero, reserve: hour).isTaken)
        // The next one is four times as far away as these tokens take.
        #expect(try await !rates.take(app, id, tokens: 1, rate, horizon: .zero, reserve: hour).isTaken)
        #expect(try await rates.take(app, id, tokens: 1, rate, horizon: hour).isTaken)
    }

    private func withWorkers(
        _ count: Int, _ fixture: WorkerFixture, _ transport: ScriptedTransport, _ rate: DeliveryRate?,
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        if count == 0 { return try await body() }
        try await fixture.withWorker(transport, rate: rate) {
            try await withWorkers(count - 1, fixture, transport, rate, body)
        }
    }
}
