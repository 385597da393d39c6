import APNsClient
import APNsWire
import Delivery
import LiveActivity
import Testing

@testable import Fanout

/// Tests that one attempt finds out to which of two environments a token belongs.
@Suite struct EnvironmentsTests {
    private static let bad = PushOutcome.rejected(Rejection(status: 400, reason: .known(.badDeviceToken)))
    private static let push = PreparedPush(
        bundleID: "com.example.shop", priority: .high, expiration: nil, payload: [])

    private static func page(_ count: Int, elsewhere: Set<Int> = []) -> TokenPage {
        var page = TokenPage()
        for number in 0..<count {
            page.append(
                channel: [1, UInt8(number)], token: [UInt8(number)], registeredAt: 0,
                route: elsewhere.contains(number) ? .elsewhere : [])
        }
        return page
    }

    /// A server that accepts these tokens. The others are bad there.
    private static func server(_ tokens: [UInt8], otherwise: PushOutcome = bad) -> ScriptedTransport {
        ScriptedTransport { token, _ in tokens.contains(token[0]) ? .accepted : otherwise }
    }

    @Test func `a bad token is tried once in the other`() async {
        let (production, sandbox) = (Self.server([0, 1]), Self.server([2, 3]))
        let sent = await Environments(first: production, other: sandbox).sendParts(Self.page(6), Self.push)
        #expect(sent.outcome.accepted == 4 && sent.found == [2, 3])
        #expect(sent.outcome.exceptions.map(\.index) == [4, 5], "bad in both: dead by rule")
        #expect(sent.outcome.exceptions.allSatisfy { $0.outcome == Self.bad })
        #expect(production.total == 6 && sandbox.total == 4)
    }

    @Test func `what is known goes there directly and may have MOVED`() async {
        let (production, sandbox) = (Self.server([0, 1, 3]), Self.server([2]))
        let sent = await Environments(first: production, other: sandbox).sendParts(
            Self.page(4, elsewhere: [2, 3]), Self.push)
        #expect(sent.outcome.accepted == 4 && sent.outcome.exceptions.isEmpty && sent.found.isEmpty)
        #expect(sandbox.counts.keys.sorted { $0[0] < $1[0] } == [[2], [3]])
        #expect(production.counts[[2]] == nil && production.counts[[3]] == 1)
    }

    @Test func `what the other says is marked as its word`() async {
        let refusal = PushOutcome.rejected(Rejection(status: 403, reason: .known(.badEnvironmentKeyInToken)))
        let (production, sandbox) = (Self.server([0]), Self.server([], otherwise: refusal))
        let sent = await Environments(first: production, other: sandbox).sendParts(Self.page(2), Self.push)
        #expect(sent.outcome.accepted == 1 && sent.page.entries.map(\.route) == [[], .elsewhere])
        #expect(sent.outcome.exceptions == [.init(index: 1, outcome: refusal)])
    }

    @Test func `with one environment nothing is tried twice`() async {
        let production = Self.server([0])
        let sent = await Environments(first: production, other: nil).sendParts(
            Self.page(2, elsewhere: [1]), Self.push)
        #expect(production.total == 2 && sent.outcome.exceptions.count == 1)
        #expect(sent.page.entries.map(\.route) == [[], []])
    }
}
