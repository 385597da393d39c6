import APNsClient
import APNsWire
import Delivery
import LiveActivity
import Store
import Testing

@testable import Fanout

/// Tests that a start can leave out devices whose user dismissed the name's card.
@Suite struct DismissalTests {
    @Test func `a start leaves out who dismissed the card, until the name ends`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.offer(0..<5)
        let (store, app, name) = (fixture.store, fixture.app, fixture.name)
        let transport = ScriptedTransport()
        try await fixture.withWorker(transport, claimAfter: .seconds(60)) {
            let update = try await fixture.publish(alert: false)
            // The app of one removed its card; a receipt tells of another; the card of the third ended, then the app
            // removed it.
            try await fixture.track(channels[0], 100, secondsAgo: 60)
            try await fixture.untrack(channels[0])
            let receipt = Receipt(push: update, event: .dismissed, channel: channels[1])
            #expect(try await store.receipts.count(app, [receipt]).accepted == 1)
            try await fixture.track(channels[2], 102, secondsAgo: 60)
            let token = try #require(WorkerFixture.token(102)).bytes
            let ended = TokenRemoval(
                channel: channels[2].stored, token: token, deadSince: nowMilliseconds() - 1_000, reason: "Unregistered")
            #expect(try await store.registry.prune(app, .activity(name), [ended]) == [.pruned])
            try await fixture.untrack(channels[2])
            // This one dismissed a card, and has another one now.
            let old = Receipt(push: update, event: .dismissed, channel: channels[4])
            #expect(try await store.receipts.count(app, [old], now: nowMilliseconds() - 30_000).accepted == 1)
            try await fixture.track(channels[4], 104)

            let first = try await fixture.finished(try await fixture.repeatStart(respects: true))
            #expect(first.targets == 5 && first.delivered == 2 && first.skipped == 3, "\(first)")
            #expect(first.errors == ["Dismissed": 2])
            let plain = try await fixture.finished(try await fixture.repeatStart(respects: false))
            #expect(plain.delivered == 4 && plain.skipped == 1 && plain.errors.isEmpty)

            _ = try await fixture.finished(try await fixture.publish(event: .end))
            // A card that is over may be cleared away.
            let late = Receipt(push: update, event: .dismissed, channel: channels[3])
            #expect(try await store.receipts.count(app, [late]).accepted == 1)
            let next = try await fixture.finished(try await fixture.repeatStart(respects: true))
            #expect(next.delivered == 5 && next.errors.isEmpty, "\(next)")
        }
    }

    /// The user dismisses the card while the start waits for its second attempt.
    @Test func `a start that waits for a retry is not sent to who dismissed the card meanwhile`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.offer(0..<2)
        let transport = ScriptedTransport { token, attempt in
            WorkerFixture.number(token) == 0 && attempt == 1 ? WaitingTests.busy(retryAfter: 3_600) : .accepted
        }
        let ledger = try await fixture.withWorker(transport) {
            let id = try await fixture.repeatStart(respects: true)
            try await fixture.swept(id)
            try await fixture.track(channels[0], 100, secondsAgo: 1)
            try await fixture.untrack(channels[0])
            try await fixture.retryNow()
            return try await fixture.finished(id)
        }
        #expect(ledger.delivered == 1 && ledger.skipped == 1 && ledger.errors["Dismissed"] == 1, "\(ledger)")
    }
}

extension WorkerFixture {
    fileprivate func repeatStart(respects: Bool) async throws -> PushID {
        var publish = Publish(
            name: name, event: .start, audience: .all, alert: RawJSON(checked: #"{"title":"t"}"#),
            attributesType: "MatchAttributes", attributes: RawJSON(checked: "{}"))
        publish.options.respectDismissal = respects
        let payload = #"{"aps":{"timestamp":0000000000,"input-push-token":1}}"#
        let acceptance = try await store.pushes.accept(
            app, publish, id: .random(), payload: Array(payload.utf8), timestampOffset: 20, now: nowMilliseconds())
        guard case .accepted(let id, _, _) = acceptance else { throw WorkerFixtureError(description: "\(acceptance)") }
        return id
    }
}
