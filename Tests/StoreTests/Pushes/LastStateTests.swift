import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store

/// The last content state of a name.
@Suite struct LastStateTests {
    @Test func `the last content state is that of the newest push that may show one`() async throws {
        let fixture = try await PushFixture.start()
        let (pushes, app, name) = (fixture.store.pushes, fixture.app, try ActivityName("match-1"))
        #expect(try await pushes.present(app, name).state == nil)
        let alert = try await fixture.push(alert: true)
        #expect(try await pushes.present(app, name).state?.ledger.id == alert)
        let vip = Audience.tag("vip", group: "device")
        let newest = try await fixture.push(audience: vip, alert: true)
        let state = try #require(try await pushes.present(app, name).state)
        #expect(state.ledger.id == newest && state.audience == vip && !state.payload.isEmpty)
        // It reached no device, so the one before it counts.
        _ = try await pushes.cancel(app, newest)
        #expect(try await pushes.present(app, name).state?.ledger.id == alert)
        // Many ends without a state are passed over.
        for _ in 0..<12 { _ = try await fixture.push(.end, state: false, audience: vip) }
        #expect(try await pushes.present(app, name).state?.ledger.id == alert)
    }
}
