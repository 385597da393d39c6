import APNsClient
import APNsWire
import Delivery
import LiveActivity
import Testing

@testable import Fanout

/// Tests how a page is split and put together, without a transport.
@Suite struct PagePlanTests {
    private static let bad = PushOutcome.rejected(Rejection(status: 400, reason: .known(.badDeviceToken)))
    private static let gone = PushOutcome.rejected(Rejection(status: 410, reason: .known(.unregistered)))

    private static func page(_ routes: [TokenPage.Entry.Route]) -> TokenPage {
        var page = TokenPage()
        for (number, route) in routes.enumerated() {
            page.append(channel: [1], token: [UInt8(number)], registeredAt: 0, route: route)
        }
        return page
    }

    /// The routes of the parts, and the tokens of each, which are indices of the page.
    private static func parts(_ plan: PagePlan) -> [TokenPage.Entry.Route: [Int]] {
        let parts = plan.parts.map { part in
            (part.route, part.entries.indices.compactMap { part.token($0).first.map(Int.init) })
        }
        return Dictionary(uniqueKeysWithValues: parts)
    }

    /// The outcome of a part that refuses these entries of the page.
    private func refused(_ indices: Int..., accepted: Int = 0, as outcome: PushOutcome = bad) -> PageOutcome {
        PageOutcome(accepted: accepted, exceptions: indices.map { .init(index: $0, outcome: outcome) })
    }

    @Test func `a page without differences is one part`() {
        let plan = PagePlan(Self.page([[], [], []]))
        #expect(Self.parts(plan) == [[]: [0, 1, 2]] && plan.parts.first?.numbers == nil)
        #expect(Self.parts(PagePlan(Self.page([[], .elsewhere]))) == [[]: [0, 1]], "there is no other environment")
    }

    @Test func `each route is a part`() {
        let both: TokenPage.Entry.Route = [.variant, .elsewhere]
        let plan = PagePlan(Self.page([[], .variant, [], [], both, .elsewhere]), hasOther: true)
        #expect(Self.parts(plan) == [[]: [0, 2, 3], .variant: [1], .elsewhere: [5], both: [4]])
        #expect(plan.parts.first?.numbers == [0, 2, 3])
        #expect(Self.parts(PagePlan(Self.page([.variant, .variant]))) == [.variant: [0, 1]])
        #expect(Self.parts(PagePlan(Self.page([[], .traced]))) == [[]: [0], .traced: [1]])
    }

    @Test func `outcomes of parts are put together`() {
        var plan = PagePlan(Self.page([.variant, [], [], .variant, []]))
        plan.add([refused(2, accepted: 2, as: Self.gone), refused(3, accepted: 1, as: Self.gone)])
        #expect(plan.parts.isEmpty && plan.outcome.accepted == 3)
        #expect(plan.outcome.exceptions.map(\.index) == [2, 3])
    }

    @Test func `a bad token goes to the other environment once`() {
        var plan = PagePlan(Self.page([[], .variant, [], .elsewhere]), hasOther: true)
        plan.add([refused(2, accepted: 1), refused(1), refused(3)])
        #expect(Self.parts(plan) == [.elsewhere: [2], [.variant, .elsewhere]: [1], []: [3]])
        plan.add([refused(accepted: 1), refused(1), refused(accepted: 1)])
        #expect(plan.parts.isEmpty && plan.found == [2])
        #expect(plan.page.entries.map(\.route) == [[], [.variant, .elsewhere], .elsewhere, []])
        #expect(plan.outcome == PageOutcome(accepted: 3, exceptions: [.init(index: 1, outcome: Self.bad)]))
    }

    @Test func `an index outside the page is not sent again`() {
        var plan = PagePlan(Self.page([[], []]), hasOther: true)
        plan.add([refused(0, 2)])
        #expect(Self.parts(plan) == [.elsewhere: [0]])
    }

    @Test func `a part of a part has the indices of the page`() {
        let part = Self.page([[], [], [], [], []]).part([1, 3, 4]).part([0, 2])
        #expect(part.numbers == [1, 4] && part.entries.indices.map { part.token($0).first } == [1, 4])
        #expect(PageOutcome(all: part, Self.gone).exceptions.map(\.index) == [1, 4])
        #expect(part.filtered { $0 == 1 }.numbers == nil)
    }
}
