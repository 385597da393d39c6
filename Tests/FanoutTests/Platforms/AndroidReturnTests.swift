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
