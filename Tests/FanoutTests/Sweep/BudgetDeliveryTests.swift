import APNsClient
import APNsWire
import Delivery
import LiveActivity
import Store
import Testing

@testable import Fanout

@Suite struct BudgetDeliveryTests {
    @Test func `past the budget everybody gets priority five, at a second attempt too`() async throws {
        let fixture = try await WorkerFixture.start()
        let registrations = try (0..<6).map { number in
            Registration(
                channel: .random(), token: try #require(WorkerFixture.token(number)),
                registeredAt: nowMilliseconds() - 60_000)
        }
        _ = try await fixture.store.registry.track(fixture.app, .activity(fixture.name), registrations)
        // One token is dead, and another is answered late. The parts of a page keep their order.
        let transport = ScriptedTransport { token, attempt in
            switch (WorkerFixture.number(token), attempt) {
            case (2, 2): .rejected(Rejection(status: 503, reason: .known(.serviceUnavailable)))
            case (5, 3): .rejected(Rejection(status: 410, reason: .known(.unregistered), timestamp: nowMilliseconds()))
            default: .accepted
            }
        }
        let ledgers = try await fixture.withWorker(transport, budget: HighBudget(perHour: 1)) {
            var ledgers: [Ledger] = []
            for _ in 0..<3 { ledgers.append(try await fixture.finished(try await fixture.publish(alert: false))) }
            return ledgers
        }
        #expect(ledgers.map(\.demoted) == [0, 6, 6])
        #expect(ledgers.map(\.delivered) == [6, 6, 5] && ledgers[2].pruned == 1 && ledgers[1].retries == 1)
        func priorities(_ number: Int) throws -> [String?] {
            transport.pushes(to: try #require(WorkerFixture.token(number)).bytes).map { $0.value("apns-priority") }
        }
        #expect(try priorities(1) == ["10", "5", "5"])
        #expect(try priorities(2) == ["10", "5", "5", "5"])
    }
}
