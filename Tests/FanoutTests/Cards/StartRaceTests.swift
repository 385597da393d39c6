import APNsClient
import APNsWire
import Delivery
import LiveActivity
import Store
import Synchronization
import TestSupport
import Testing

@testable import Fanout

/// Tests events while a start's page is on the wire. Its answers come only when all of its devices have answered, but a
/// device with a card does not wait for that.
@Suite struct StartRaceTests {
    @Test func `an end that is accepted meanwhile is for whom the start reaches`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.offer(0..<3)
        let transport = ScriptedTransport()
        transport.hold()
        try await fixture.withWorker(transport, claimAfter: .seconds(60)) {
            let start = try await fixture.begin(label: "start")
            await transport.holding(pages: 1)
            let end = try await fixture.publish(alert: false, event: .end, label: "end")
            try await fixture.isLater(than: nowMilliseconds() + 1)
            transport.letGo()
            #expect(try await fixture.finished(start).delivered == 3)
            #expect(try await fixture.finished(end).targets == 0)
            try await fixture.isLater(than: nowMilliseconds() + 1)
            try await fixture.track(channels[0], 100)
            await transport.answered(4)
            #expect(transport.taken(100) == ["end"])
            #expect(try await fixture.finished(end).delivered == 1)
            await #expect(throws: WorkerFixtureError.self, "the name is not opened by it") {
                try await fixture.publish(label: "refused")
            }
            // A card that begins by itself opens the name.
            try await fixture.track(.random(), 200)
            #expect(try await fixture.finished(try await fixture.publish(label: "next")).delivered == 1)
        }
        #expect(transport.taken(200) == ["next"])
    }

    /// If APNs is slow, pages wait long for their streams.
    @Test(arguments: [false, true])
    func `a start that is still on its way to a connection when the name ends is looked at again`(
        isRetry: Bool
    ) async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.offer(0..<3)
        let transport = WaitingTransport(
            ScriptedTransport { _, attempt in isRetry && attempt == 1 ? WaitingTests.busy() : .accepted },
            waitsFromPage: isRetry ? 1 : 0)
        try await fixture.withWorker(transport, claimAfter: .seconds(600), startHold: .milliseconds(300)) {
            let start = try await fixture.begin(label: "start")
            await transport.waits.passed(1)
            _ = try await fixture.publish(alert: false, event: .end, label: "end")
            transport.ended.move(to: 1)
            let ledger = try await fixture.finished(start)
            #expect(ledger.skipped == 3 && ledger.delivered == 0 && ledger.targets == 3, "\(ledger)")
        }
        #expect(transport.inner.taken == [:])
    }

    /// The token comes after the `end`. The name begins again before a worker has looked at it. The card is an old one,
    /// and its channel also gets the new card.
    @Test func `the end of a card whose token is late comes before the name begins anew`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.offer(0..<2)
        let transport = ScriptedTransport()
        let end = try await fixture.withWorker(transport, claimAfter: .seconds(60)) {
            #expect(try await fixture.finished(try await fixture.begin(label: "first")).delivered == 2)
            let end = try await fixture.finished(try await fixture.publish(alert: false, event: .end, label: "end"))
            try await fixture.isLater(than: end.createdAt + 1)
            return end.id
        }
        try await fixture.track(channels[0], 100)
        let second = try await fixture.begin(.channel(channels[0]), label: "second")
        let update = try await fixture.publish(alert: false, label: "update")
        try await fixture.withWorker(transport, claimAfter: .seconds(60)) {
            #expect(try await fixture.finished(second).delivered == 1)
            #expect(try await fixture.finished(update).delivered == 0)
            // This `end` was not for the new card. The token of the old card is reported last of all.
            try await fixture.track(channels[1], 101)
            let ended = try await fixture.finished(end)
            #expect(ended.late == 2 && ended.delivered == 2 && ended.targets == 2)
        }
        #expect(transport.taken == [0: ["first", "second"], 1: ["first"], 100: ["end"], 101: ["end"]])
        #expect(try await fixture.store.names.info(fixture.app, fixture.name)?.tokens == 0)
    }

    /// The card of the first start exists, and its token has not come yet.
    @Test func `a repeated start that is refused leaves the first ones note`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.offer(0..<2)
        let transport = ScriptedTransport(byLabel: { _, label, _ in
            label == "again" ? .rejected(Rejection(status: 400, reason: .known(.badTopic))) : .accepted
        })
        try await fixture.withWorker(transport, claimAfter: .seconds(60)) {
            #expect(try await fixture.finished(try await fixture.begin(label: "start")).delivered == 2)
            #expect(try await fixture.finished(try await fixture.begin(label: "again")).failed == 2)
            // No device has a card from this start alone.
            let newcomer = try await fixture.offer(2..<3)
            let refused = try await fixture.begin(.channel(newcomer[0]), label: "again")
            #expect(try await fixture.finished(refused).failed == 1)
            #expect(try await fixture.finished(try await fixture.publish(alert: false, label: "update")).targets == 0)
            try await fixture.track(newcomer[0], 102)
            try await fixture.track(channels[0], 100)
            await transport.answered(6)
        }
        #expect(transport.taken(100) == ["update"] && transport.taken(102) == [])
    }

    /// The card reports its token while another device of the page is silent. A card that begins by itself after
    /// the end is a new one.
    @Test func `a device that is quicker than its page is not waited for later`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.offer(0..<3)
        let transport = ScriptedTransport()
        transport.hold()
        try await fixture.withWorker(transport, claimAfter: .seconds(60)) {
            let start = try await fixture.begin(label: "start")
            await transport.holding(pages: 1)
            try await fixture.track(channels[0], 100)
            transport.letGo()
            #expect(try await fixture.finished(start).delivered == 3)
            #expect(try await fixture.finished(try await fixture.publish(alert: false, label: "update")).delivered == 1)
            let end = try await fixture.finished(
                try await fixture.publish(alert: false, event: .end, label: "end"))
            #expect(end.delivered == 1)
            try await fixture.isLater(than: nowMilliseconds() + 1)
            try await fixture.track(channels[0], 101)
            #expect(try await fixture.finished(try await fixture.publish(label: "next")).delivered == 1)
        }
        #expect(transport.taken(100) == ["update", "end"] && transport.taken(101) == ["next"])
    }
}

/// One page waits for streams until something has happened. Then it may not be sent any more.
private final class WaitingTransport: PushTransport {
    let inner: ScriptedTransport
    let waits = Signal("a page waits for streams")
    let ended = Signal("the name has ended")
    private let waitsFromPage: Int
    private let pages = Atomic(0)

    init(_ inner: ScriptedTransport, waitsFromPage: Int) {
        self.inner = inner
        self.waitsFromPage = waitsFromPage
    }

    var requestTimeout: Duration { .seconds(10) }
    func close() async {}

    func send(
        _ page: TokenPage, _ push: PreparedPush, while permission: any SendPermission, _ handover: Handover?
    ) async -> PageOutcome {
        // The retries may come in several pages.
        if pages.wrappingAdd(1, ordering: .relaxed).oldValue >= waitsFromPage {
            waits.move(to: 1)
            await ended.passed(1)
            try? await eventually("the page may not be sent any more") { !permission.holds }
        }
        return await inner.send(page, push, while: permission)
    }
}
