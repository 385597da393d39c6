import LiveActivity
import TestSupport
import Testing

@testable import Store

/// Tests push-to-start tokens. They are in the registry under their attributes type, and they live longer.
@Suite struct StartTokensTests {
    private let place = TokenPlace.startTokens(of: "Delivery")

    private func held(_ fixture: RegistryFixture, _ channel: ChannelID) async throws -> [UInt8]? {
        let (page, _) = try await fixture.registry.tokens.lookup(fixture.app, place, [channel.stored])
        return page.isEmpty ? nil : Array(page.token(0))
    }

    /// A bucket of which most is asked for is read whole, and other channels of it are left out.
    @Test func `channels are found alike, whether one or most of a bucket are asked for`() async throws {
        try await RegistryFixture.run { fixture in
            let channels = (0..<60).map { _ in ChannelID.random() }
            let registrations = channels.enumerated().map { number, channel in
                Registration(channel: channel, token: .test(number), registeredAt: fixture.time.now - 10)
            }
            _ = try await fixture.registry.track(fixture.app, place, registrations)
            try await fixture.registry.untrack(
                fixture.app, place, [Untrack(channel: channels[7], removedAt: fixture.time.now)])
            let asked = Array(channels.dropFirst(5).shuffled()) + [.random(), channels[9]]
            #expect(asked.count > Tokens.wholeBucket)
            let (page, _) = try await fixture.registry.tokens.lookup(fixture.app, place, asked.map(\.stored))
            let living = asked.filter { channel in channels.contains(channel) && channel != channels[7] }
            #expect(page.entries.indices.map { Array(page.channel($0)) } == living.map(\.stored))
            for (index, channel) in living.enumerated() {
                #expect(try await held(fixture, channel) == Array(page.token(index)))
            }
        }
    }

    @Test func `the newer action wins`() async throws {
        try await RegistryFixture.run { fixture in
            let (registry, app, channel) = (fixture.registry, fixture.app, ChannelID.random())
            let now = fixture.time.now
            func set(_ number: Int, _ at: Int64) async throws {
                _ = try await registry.track(
                    app, place, [Registration(channel: channel, token: .test(number), registeredAt: at)])
            }
            func remove(_ at: Int64) async throws {
                try await registry.untrack(app, place, [Untrack(channel: channel, removedAt: at)])
            }
            try await set(1, now - 10)
            try await set(2, now - 20)
            #expect(try await held(fixture, channel) == PushToken.test(1).bytes)
            try await remove(now - 15)
            #expect(try await held(fixture, channel) == PushToken.test(1).bytes)
            try await remove(now - 5)
            #expect(try await held(fixture, channel) == nil)
            try await set(3, now - 7)
            #expect(try await held(fixture, channel) == nil)
            try await set(4, now + 1_000_000)
            #expect(try await held(fixture, channel) == PushToken.test(4).bytes)
        }
    }

    @Test func `they outlive an activity and are no name`() async throws {
        try await RegistryFixture.run { fixture in
            let (registry, app) = (fixture.registry, fixture.app)
            let channels = (0..<300).map { _ in ChannelID.random() }
            let registrations = channels.enumerated().map { number, channel in
                Registration(
                    channel: channel, token: .test(number),
                    registeredAt: fixture.time.now - (number < 100 ? 49 * 3_600_000 : 0))
            }
            _ = try await registry.track(app, place, registrations)
            fixture.time.advance(hours: 24 * 30)
            let later = (300..<600).map { number in
                Registration(channel: .random(), token: .test(number), registeredAt: fixture.time.now)
            }
            // Buckets are divided meanwhile, and expired entries are dropped.
            _ = try await registry.track(app, place, later)
            let found = try await registry.tokens.startTokens(
                app, "Delivery", reportedBefore: fixture.time.now - 48 * 3_600_000)
            #expect(found.tokens == 600 && found.stale == 300 && found.buckets > 1)
            #expect(try await registry.names.page(app, prefix: "", after: nil, limit: 10).isEmpty)
            #expect(try await registry.tokens.startTokens(app, "Other", reportedBefore: 0).tokens == 0)
            fixture.time.advance(hours: 24 * 340)
            #expect(try await registry.tokens.startTokens(app, "Delivery", reportedBefore: 0).tokens == 300)
        }
    }

    @Test func `no activity can have their name`() {
        #expect(place.stored == "\u{1}Delivery")
        #expect(throws: IdentifierError.self) { try ActivityName(place.stored) }
        #expect(throws: IdentifierError.self) { try TokenPlace(stored: "\u{1}") }
        #expect(throws: IdentifierError.self) { try TokenPlace(stored: "\u{1}\u{2}") }
    }
}
