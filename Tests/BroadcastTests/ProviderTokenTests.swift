import APNsClient
import APNsSimulator
import APNsWire
import Delivery
import Lanes
import LiveActivity
import Store
import Testing

@testable import Fanout

/// Tests that tokens, broadcasts and channel management use one JWT, that of the fleet: `ll:jwt`.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct ProviderTokenTests {
    private let push = PreparedPush(
        bundleID: BroadcastFixture.bundleID, priority: .high,
        payload: Array(#"{"aps":{"timestamp":1790000000,"event":"update","content-state":{}}}"#.utf8))

    private var page: TokenPage {
        var page = TokenPage()
        for number in 0..<20 {
            page.append(channel: [1], token: [UInt8](repeating: UInt8(number), count: 32), registeredAt: 0)
        }
        return page
    }

    private func broadcast(_ channel: BroadcastChannelID, goals: Int) -> PreparedPush {
        .broadcast(
            bundleID: BroadcastFixture.bundleID, channel: channel, storage: .none, priority: .high, expiration: 0,
            payload: Array(
                #"{"aps":{"timestamp":\#(1_790_000_000 + goals),"event":"update","content-state":{}}}"#.utf8))
    }

    /// A worker's lanes and its broadcast service, as the worker makes them. Each has its own source of tokens.
    @Test func `one token for tokens broadcasts and channels`() async throws {
        // Allow one renewal in twenty minutes for all connections together.
        try await BroadcastFixture.run(server: { $0.providerTokenScope = .key }) { it in
            let lanes = try LaneTransport(.libcurl, configuration: it.apns, logger: it.logger)
            let channel = try await it.manager.create(.none)
            #expect(await it.sender.send(broadcast(channel, goals: 1)) == .accepted)
            #expect(await lanes.send(page, push) == PageOutcome(accepted: 20))
            #expect(it.simulator.snapshot().providerTokens == 1)

            // The first one that is told of the expiry renews the token for all.
            try it.set { $0.expireNext = 1 }
            #expect(await it.sender.send(broadcast(channel, goals: 2)) == .accepted)
            #expect(it.simulator.snapshot().broadcasts.byReason == ["ExpiredProviderToken": 1])
            try it.set { $0.expireNext = 1 }
            #expect(await lanes.send(page, push) == PageOutcome(accepted: 20))
            #expect(it.simulator.snapshot().byReason == ["ExpiredProviderToken": 1])
            #expect(try await it.manager.list() == [channel])
            #expect(it.simulator.snapshot().providerTokens == 2)
            await lanes.close()
        }
    }

    /// As above, but the fault comes to the lanes first, and another worker starts later.
    @Test func `a worker that comes late takes the renewed one`() async throws {
        try await BroadcastFixture.run(server: { $0.providerTokenScope = .key }) { it in
            let lanes = try LaneTransport(.libcurl, configuration: it.apns, logger: it.logger)
            try it.set { $0.expireNext = 1 }
            #expect(await lanes.send(page, push) == PageOutcome(accepted: 20))
            let channel = try await it.manager.create(.none)
            #expect(await it.sender.send(broadcast(channel, goals: 1)) == .accepted)
            #expect(it.simulator.snapshot().providerTokens == 2, "the expired one and the one of all")
            #expect(it.simulator.snapshot().broadcasts.byReason.isEmpty)
            await lanes.close()
        }
    }
}
