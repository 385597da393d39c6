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
}
