import Delivery
import LiveActivity
import Store
import TestSupport
import Testing

@testable import Fanout

/// A push for two platforms of which one takes nothing, or little: nobody waits for the other platform.
@Suite struct SeveralPlatformsTests {
    /// Enough followers for shards, so Android has one of its own.
    private static let (apples, androids) = (0..<3_000, 10_000..<12_000)

    private func publish(_ fixture: WorkerFixture, alert: Bool = false) async throws -> PushID {
        let content = PlatformContent(type: "match", contentState: RawJSON(checked: #"{"home":1}"#))
        return try await fixture.publish(alert: alert, android: content)
    }

    /// A sender whose platform takes so many a second.
    private func paced(
        _ sender: any PlatformSender, _ perSecond: Int, _ fixture: WorkerFixture
    ) async throws -> any PlatformSender {
        var sender = sender
        let (key, turns) = (PlatformAccount("\(fixture.app)", sender.platform), fixture.store.deliveryRates)
        // The rate rises from the first turn on, which has passed then.
        let pace = PlatformPace(perSecond: perSecond, rise: .milliseconds(1), rest: .seconds(600))
        while try await !turns.take(key, tokens: 1, pace, horizon: .zero).isTaken {}
        try await eventually("the whole rate") { try await turns.take(key, tokens: 1, pace, horizon: .zero).isTaken }
        sender.transport = PacedTransport(sender.transport, key, pace, turns)
        return sender
    }

    private func delivered(_ fixture: WorkerFixture, _ id: PushID, on platform: Platform) async throws -> Int {
        let ledger = try #require(try await fixture.store.pushes.ledger(fixture.app, id))
        return ledger.byPlatform[platform]?[.delivered] ?? 0
    }

    @Test(arguments: [Platform.ios, .android], [false, true])
    func `a halted platform of a large name holds nobody up, and gets the pushes later, of updates the newest`(
        halted: Platform, alert: Bool
    ) async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(Self.apples, on: .apns)
        try await fixture.track(Self.androids, on: .fcm)
        let (apns, fcm) = (TestPlatform.apns.wire(), TestPlatform.fcm.wire())
        let other = halted == .ios ? Platform.android : .ios
        let (wire, count) = halted == .ios ? (apns, 3_000) : (fcm, 2_000)
        wire.becomes(.unreachable)
        let (first, last) = try await fixture.withWorker(
            senders: [TestPlatform.apns.sender(apns), TestPlatform.fcm.sender(fcm)], pageSize: 500
        ) {
            var pushes: [PushID] = []
            for _ in 0..<3 {
                let id = try await publish(fixture, alert: alert)
                try await eventually("\(other) has its part") {
                    try await delivered(fixture, id, on: other) == 5_000 - count
                }
                pushes.append(id)
            }
            wire.becomes(.accepted)
            return (try await fixture.finished(pushes[0]), try await fixture.finished(pushes[2]))
        }
        #expect(last.targets == 5_000 && last.delivered == 5_000, "\(last)")
        #expect(first.byPlatform[halted]?[.delivered] == (alert ? count : 0), "\(first)")
        let (ios, android) = (halted == .ios && !alert ? 1 : 3, halted == .android && !alert ? 1 : 3)
        #expect(try Self.apples.prefix(5).allSatisfy { try apns.taken($0).count == ios })
        #expect(try Self.androids.prefix(5).allSatisfy { try fcm.taken($0).count == android })
    }

    /// At fifty a second, Android would take forty seconds for each push.
    @Test func `updates on iOS do not go at the pace of Android`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(Self.apples, on: .apns)
        try await fixture.track(Self.androids, on: .fcm)
        let (apns, fcm) = (TestPlatform.apns.wire(), TestPlatform.fcm.wire())
        let sender = try await paced(TestPlatform.fcm.sender(fcm), 50, fixture)
        try await fixture.withWorker(senders: [TestPlatform.apns.sender(apns), sender], pageSize: 500) {
            for _ in 0..<3 {
                let id = try await publish(fixture)
                try await eventually("iOS has its part") { try await delivered(fixture, id, on: .ios) == 3_000 }
            }
        }
        #expect(fcm.total < 2_000)
    }

    @Test func `a page for both does not wait for the pace of one`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<10, on: .apns)
        try await fixture.track(10..<300, on: .fcm)
        let (apns, fcm) = (TestPlatform.apns.wire(), TestPlatform.fcm.wire())
        let sender = try await paced(TestPlatform.fcm.sender(fcm), 100, fixture)
        let ledger = try await fixture.withWorker(senders: [TestPlatform.apns.sender(apns), sender]) {
            for _ in 0..<2 {
                let id = try await publish(fixture)
                try await eventually("iOS has its part") { try await delivered(fixture, id, on: .ios) == 10 }
            }
            #expect(fcm.total < 290)
            return try await fixture.finished(try await publish(fixture))
        }
        #expect(ledger.delivered == 300 && ledger.errors.isEmpty, "\(ledger)")
    }

    /// At fifty a second, the second part of the page would go out five seconds after the first one.
    @Test func `nothing goes out behind its expiry because it waited for the pace`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(10_000..<10_600, on: .fcm)
        let fcm = TestPlatform.fcm.wire()
        let sender = try await paced(TestPlatform.fcm.sender(fcm), 50, fixture)
        let ledger = try await fixture.withWorker(
            senders: [TestPlatform.apns.sender(TestPlatform.apns.wire()), sender]
        ) {
            let content = PlatformContent(contentState: RawJSON(checked: #"{"home":1}"#))
            let expiry = Int(nowMilliseconds() / 1_000) + 2
            return try await fixture.finished(try await fixture.publish(expiry: expiry, android: content))
        }
        #expect(ledger.targets == 600 && ledger.expired >= 350 && ledger.delivered == fcm.total, "\(ledger)")
    }

    /// The run of retries has more than a page of channels that cannot be sent to before the one that can.
    @Test func `a phone that begins late does not wait behind a halted platform`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<1, on: .apns)
        try await fixture.track(10_000..<11_200, on: .fcm)
        let (apns, fcm) = (TestPlatform.apns.wire(), TestPlatform.fcm.wire { _, _ in .unreachable })
        try await fixture.withWorker(
            senders: [TestPlatform.apns.sender(apns), TestPlatform.fcm.sender(fcm)], pageSize: 500
        ) {
            let id = try await publish(fixture)
            try await eventually("iOS has its part") { try await delivered(fixture, id, on: .ios) == 1 }
            try await eventually("Android waits") {
                try await fixture.store.pushes.ledger(fixture.app, id)?.targets == 1_201
            }
            let late = Registration(
                channel: .random(), token: try TestPlatform.apns.address(1), registeredAt: nowMilliseconds(),
                wantsState: true)
            _ = try await fixture.store.registry.track(fixture.app, .activity(fixture.name), late)
            try await eventually("the late phone has the push") { try apns.taken(1).count == 1 }
        }
    }
}
