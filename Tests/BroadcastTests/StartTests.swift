import APNsSimulator
import APNsWire
import LiveActivity
import Store
import Testing

@testable import Fanout

/// Tests a start for a name with a broadcast channel. Devices with iOS 18 subscribe to it, and others report a token.
@Suite struct StartTests {
    private func start(_ stage: BroadcastFixture, _ name: ActivityName) async throws -> PushID {
        let publish = Publish(
            name: name, event: .start, audience: .all, contentState: RawJSON(checked: #"{"home":0}"#),
            alert: RawJSON(checked: #"{"title":"Kick-off"}"#), attributesType: "Match",
            attributes: RawJSON(checked: "{}"))
        let acceptance = try await stage.store.pushes.accept(
            stage.app, publish, id: .random(), payload: Payload(publish, timestamp: 1_795_284_000).bytes,
            timestampOffset: Payload.timestampOffset)
        guard case .accepted(let id, _, _) = acceptance else { throw Unexpected(text: "\(acceptance)") }
        return id
    }

    private struct Unexpected: Error { var text: String }

    /// Publishes a start and returns how many devices it reached.
    private func delivered(_ stage: BroadcastFixture, _ name: ActivityName) async throws -> Int {
        try await stage.ledger(try await start(stage, name)).delivered
    }

    private static func token(_ number: Int) -> PushToken? {
        PushToken(bytes: [UInt8](repeating: UInt8(number), count: 64))
    }

    @Test func `devices that can take their updates from the channel`() async throws {
        try await BroadcastFixture.run { stage in
            let name = try stage.name()
            let channels = (0..<4).map { _ in ChannelID.random() }
            for (number, channel) in channels.enumerated() {
                // Two channels have iOS 18, one has an older version, and the version of one is unknown.
                try await stage.store.channels.register(
                    stage.app, channel, tags: TagChange(), namedUser: nil, hasIOS18: number < 3 ? number < 2 : nil)
                let registration = Registration(
                    channel: channel, token: try #require(Self.token(number + 1)), registeredAt: stage.now)
                _ = try await stage.store.registry.track(
                    stage.app, .startTokens(of: "Match"), [registration])
            }
            try await stage.want(name)
            await stage.keeper().tick(stage.app)
            let owned = try #require(try await stage.channel(name)?.id)
            try await stage.working {
                #expect(try await delivered(stage, name) == 4)
                // One channel reports that it has iOS 18 now. The start is repeated, and each device keeps one card.
                try await stage.store.channels.register(
                    stage.app, channels[2], tags: TagChange(), namedUser: nil, hasIOS18: true)
                try await stage.store.channels.register(stage.app, channels[0], tags: TagChange(), namedUser: nil)
                #expect(try await delivered(stage, name) == 4)
            }
            #expect(stage.simulator.snapshot().ignoredByDevice.isEmpty)
            let inputs = try (1...4).map { number in
                let token = try #require(Self.token(number))
                let report = try #require(stage.simulator.token(token.hex))
                #expect(report.cards == 1 && report.accepted == 2)
                #expect(report.history.map(\.collapseID) == [CollapseID.start(name), CollapseID.start(name)])
                return report.history.map(\.inputChannel)
            }
            let (id, none) = (Optional(owned.rawValue), Optional<String>.none)
            #expect(inputs == [[id, id], [id, id], [none, id], [none, none]])
        }
    }

    @Test func `without a live channel each device is asked for a token`() async throws {
        try await BroadcastFixture.run { stage in
            let name = try stage.name()
            let channel = ChannelID.random()
            try await stage.store.channels.register(
                stage.app, channel, tags: TagChange(), namedUser: nil, hasIOS18: true)
            let registration = Registration(
                channel: channel, token: try #require(Self.token(1)), registeredAt: stage.now)
            _ = try await stage.store.registry.track(stage.app, .startTokens(of: "Match"), [registration])
            try await stage.working {
                let reached = try await delivered(stage, name)
                #expect(reached == 1)
            }
            let token = try #require(Self.token(1))
            let report = try #require(stage.simulator.token(token.hex))
            #expect(report.history.map(\.inputChannel) == [nil] && report.cards == 1)
        }
    }
}
