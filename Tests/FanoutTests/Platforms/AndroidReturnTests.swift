import LiveActivity
import Store
import TestSupport
import Testing

@testable import Fanout

/// Devices with one address that register again while a push is on its way to them.
@Suite struct AndroidReturnTests {
    /// The device may have got the push while it had no card, and drops a message with an id that it has seen.
    @Test func `a device that registers again during a sweep gets the push under another id`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.follow(android: 10..<11)
        let gate = Gate()
        let fcm = TestPlatform.fcm.wire()
        let sender = HeldSender(sender: TestPlatform.fcm.sender(fcm), gate: gate)
        let id = try await fixture.withWorker(senders: [TestPlatform.apns.sender(TestPlatform.apns.wire()), sender]) {
            let id = try await fixture.publishToAndroid(alert: false)
            await gate.reached()
            // The device's clock is half a minute behind.
            try await fixture.tell(10, hasCard: false, at: nowMilliseconds() - 30_000)
            await gate.open()
            _ = try await fixture.finished(id)
            return id
        }
        let messages = try fcm.messages(10)
        #expect(messages.map(\.event) == ["update", "start"])
        #expect(messages.first?.id == "\(id)")
        #expect(messages.last?.id.hasPrefix("\(id)-") == true, "\(messages)")
    }

    /// Its token under the name is the same before and after.
    @Test func `a channel that follows again while an end is on its way stays`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.follow(android: 10..<13)
        let gate = Gate()
        let fcm = TestPlatform.fcm.wire()
        let sender = HeldSender(sender: TestPlatform.fcm.sender(fcm), gate: gate)
        let (end, update) = try await fixture.withWorker(
            senders: [TestPlatform.apns.sender(TestPlatform.apns.wire()), sender]
        ) {
            let id = try await fixture.publishToAndroid(.end)
            await gate.reached()
            try await fixture.isLater(than: nowMilliseconds() + 1)
            try await fixture.tell(10, hasCard: true)
            // This one removes its card first, so its next one opens the name.
            let removal = Untrack(channel: try WorkerFixture.androidChannel(11), removedAt: nowMilliseconds())
            try await fixture.store.registry.untrack(fixture.app, .activity(fixture.name), [removal])
            try await fixture.isLater(than: nowMilliseconds() + 1)
            try await fixture.tell(11, hasCard: true)
            await gate.open()
            let end = try await fixture.finished(id)
            return (end, try await fixture.finished(try await fixture.publishToAndroid()))
        }
        #expect(end.targets == 3 && end.delivered == 3, "\(end)")
        #expect(update.targets == 2 && update.delivered == 2, "\(update)")
        #expect(try await fixture.store.names.info(fixture.app, fixture.name)?.tokens == 2)
        let events = try (10..<13).map { try fcm.messages($0).map(\.event) }
        #expect(events == [["end", "update"], ["end", "update"], ["end"]])
    }

    /// The card's start is at the second after the loss, and the device takes nothing older.
    @Test(arguments: [false, true])
    func `an update in the second of a lost card has a later second than the card's start`(alert: Bool) async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.follow(android: 10..<11)
        let fcm = TestPlatform.fcm.wire()
        try await fixture.withWorker(
            senders: [TestPlatform.apns.sender(TestPlatform.apns.wire()), TestPlatform.fcm.sender(fcm)]
        ) {
            _ = try await fixture.finished(try await fixture.publishToAndroid(alert: false))
            try await fixture.tell(10, hasCard: false)
            await fcm.answered(2)
            _ = try await fixture.finished(try await fixture.publishToAndroid(alert: alert))
        }
        let messages = try fcm.messages(10)
        #expect(messages.map(\.event) == ["update", "start", "start"])
        let seconds = messages.map(\.second)
        #expect(seconds == Set(seconds).sorted(), "\(messages)")
    }
}
