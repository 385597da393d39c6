import Delivery
import FCMClient
import LiveActivity
import Store
import TestSupport
import Testing

@testable import Fanout

/// The parts of a ledger on each platform add up, also of channels whose outcomes a script counts by itself.
@Suite struct AndroidLedgerTests {
    private let content = PlatformContent(type: "match", contentState: RawJSON(checked: #"{"home":1}"#))

    /// An install on Android begins to follow now, and asks for the state that it missed.
    private func join(_ fixture: WorkerFixture, _ number: Int) async throws {
        let (channel, at) = (ChannelID.random(), nowMilliseconds())
        let address = Registration(channel: channel, token: try TestPlatform.fcm.address(number), registeredAt: at)
        _ = try await fixture.store.registry.track(fixture.app, .addresses(on: .android), [address])
        let follower = Registration(
            channel: channel, token: .ofChannel(on: .android), registeredAt: at, wantsState: true)
        let results = try await fixture.store.registry.track(fixture.app, .activity(fixture.name), [follower])
        #expect(results == [.stored])
    }

    @Test func `a late joiner whose state is superseded counts on its platform`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<1, on: .apns)
        try await fixture.track(10..<11, on: .fcm)
        var platform = TestPlatform.fcm
        // It waits until the test lets it go.
        platform.rejections[.busy] = Rejection(
            status: 503, reason: FCMReason.unavailable.rawValue, verdict: .retry, retryAfter: 600)
        let fcm = platform.wire { number, attempt in number == 12 && attempt == 1 ? .busy : .accepted }
        let apns = TestPlatform.apns.wire()
        let (old, new) = try await fixture.withWorker(
            senders: [TestPlatform.apns.sender(apns), platform.sender(fcm)]
        ) {
            let old = try await fixture.publish(alert: false, label: "old", android: content)
            _ = try await fixture.finished(old)
            try await join(fixture, 12)
            await fcm.answered(2)
            // The settlement comes after the answer.
            try await eventually("the late joiner waits") {
                try await fixture.store.pushes.ledger(fixture.app, old)?.retries == 1
            }
            let new = try await fixture.publish(alert: false, label: "new", android: content)
            try await fixture.swept(new)
            try await fixture.retryNow()
            return (try await fixture.finished(old), try await fixture.finished(new))
        }
        #expect(old.late == 1 && old.targets == 3 && old.superseded == 1, "\(old)")
        #expect(
            old.byPlatform == [
                .ios: Outcomes(targets: 1, [.delivered: 1]),
                .android: Outcomes(targets: 2, [.delivered: 1, .superseded: 1]),
            ])
        #expect(
            new.byPlatform == [
                .ios: Outcomes(targets: 1, [.delivered: 1]), .android: Outcomes(targets: 2, [.delivered: 2]),
            ])
    }

    /// A dead letter does not tell a channel's platform.
    @Test func `an operator's retry leaves no platform with more outcomes than targets`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<2, on: .apns)
        try await fixture.track(10..<13, on: .fcm)
        let apns = TestPlatform.apns.wire()
        let fcm = TestPlatform.fcm.wire { number, attempt in number == 11 && attempt <= 4 ? .busy : .accepted }
        let (given, ledger) = try await fixture.withWorker(
            senders: [TestPlatform.apns.sender(apns), TestPlatform.fcm.sender(fcm)]
        ) {
            let id = try await fixture.publish(on: .fcm)
            let given = try await fixture.finished(id)
            let retry = try await fixture.store.deadLetters.retry(fixture.app, id)
            #expect(retry == .taken(tokens: 1, isResumed: false))
            return (given, try await fixture.finished(id))
        }
        #expect(given.byPlatform[.android] == Outcomes(targets: 3, [.delivered: 2, .failed: 1]))
        #expect(
            ledger.byPlatform == [
                .ios: Outcomes(targets: 2, [.delivered: 2]), .android: Outcomes(targets: 3, [.delivered: 3]),
            ])
    }
}
