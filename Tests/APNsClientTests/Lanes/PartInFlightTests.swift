import APNsWire
import Delivery
import LiveActivity
import Testing

@testable import APNsClient

/// Tests when a page gets a part back whose requests are on their way.
@Suite struct PartInFlightTests {
    @Test func `a page waits for a part with entries that no connection has`() async {
        let outcome = await withCheckedContinuation { (sender: CheckedContinuation<PageOutcome, Never>) in
            var page = TokenPage()
            for number in 0..<3 { page.append(channel: [1], token: [UInt8(number)], registeredAt: 0, attempt: 0) }
            let push = LanePush(
                PreparedPush(bundleID: "com.example", priority: .high, expiration: 0, payload: []))
            let answers = PageAnswers(3, Handover(), RequestCount(), sender)
            let shared = SharedPage(page, push, StandingPermission(), answers)
            let part = PartInFlight(PagePart(shared: shared, range: 0..<3), template: (), tokenNumber: 1)
            // The connection ended behind the first entry.
            #expect(part.next() == 0)
            #expect(!part.mayBeLeftOpen(now: 60_000, patience: 500), "two entries would never be sent")
            #expect(part.next() == 1 && part.next() == 2)
            part.repeats = 1
            #expect(!part.mayBeLeftOpen(now: 60_000, patience: 500), "a request waits to be sent again")
            part.repeats = 0
            part.accept(1)
            #expect(part.mayBeLeftOpen(now: 60_000, patience: 500))
            part.leaveOpen()
        }
        #expect(outcome.accepted == 1 && outcome.open == [0, 2])
    }
}
