import APNsClient
import APNsWire
import Delivery
import Testing

@testable import Fanout

/// Tests how a page is split and put together, without a transport.
@Suite struct PagePlanTests {
    private static let bad = PushOutcome.rejected(Rejection(status: 400, reason: .known(.badDeviceToken)))
    private static let gone = PushOutcome.rejected(Rejection(status: 410, reason: .known(.unregistered)))

    /// The outcome of a part that refuses the entries at these positions.
    private func refused(_ positions: Int..., accepted: Int = 0, as outcome: PushOutcome = bad) -> PageOutcome {
        PageOutcome(accepted: accepted, exceptions: positions.map { .init(index: $0, outcome: outcome) })
    }

    @Test func `a page without differences is one part`() {
        #expect(PagePlan(3).parts == [.init(indices: [0, 1, 2])])
        #expect(PagePlan(2, elsewhere: [1]).parts == [.init(indices: [0, 1])], "there is no other environment")
    }

    @Test func `each variant and each environment is a part`() {
        let plan = PagePlan(6, variant: [1, 4], elsewhere: [4, 5], hasOther: true)
        #expect(
            plan.parts == [
                .init(indices: [0, 2, 3]), .init(indices: [1], isVariant: true), .init(indices: [5], isElsewhere: true),
                .init(indices: [4], isVariant: true, isElsewhere: true),
            ])
        #expect(PagePlan(2, variant: [0, 1]).parts == [.init(indices: [0, 1], isVariant: true)])
    }

    @Test func `outcomes have the indices of the page`() {
        var plan = PagePlan(5, variant: [0, 3])
        plan.add([refused(1, accepted: 2, as: Self.gone), refused(1, accepted: 1, as: Self.gone)])
        #expect(plan.parts.isEmpty && plan.outcome.accepted == 3)
        #expect(plan.outcome.exceptions.map(\.index) == [2, 3])
    }

    @Test func `a bad token goes to the other environment once`() {
        var plan = PagePlan(4, variant: [1], elsewhere: [3], hasOther: true)
        plan.add([refused(1, accepted: 1), refused(0), refused(0)])
        #expect(
            plan.parts == [
                .init(indices: [2], isElsewhere: true), .init(indices: [1], isVariant: true, isElsewhere: true),
                .init(indices: [3]),
            ])
        plan.add([refused(accepted: 1), refused(0), refused(accepted: 1)])
        #expect(plan.parts.isEmpty && plan.found == [2] && plan.elsewhere == [1, 2])
        #expect(plan.outcome == PageOutcome(accepted: 3, exceptions: [.init(index: 1, outcome: Self.bad)]))
    }

    @Test func `a probe is the first entry`() {
        var plan = PagePlan(probing: 3)
        #expect(plan.parts == [.init(indices: [0]), .init(indices: [1, 2])])
        plan.add([refused(accepted: 1), refused(1, accepted: 1, as: Self.gone)])
        #expect(plan.outcome == PageOutcome(accepted: 2, exceptions: [.init(index: 2, outcome: Self.gone)]))
    }

    @Test func `an exception outside its part is ignored`() {
        var plan = PagePlan(2)
        plan.add([refused(0, 2, as: Self.gone)])
        #expect(plan.outcome.exceptions.map(\.index) == [0])
    }
}
