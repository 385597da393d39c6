import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store
@testable import StoreRegistry

/// Changes of many channels, as an import makes them.
@Suite struct ChannelChangesTests {
    private func members(_ fixture: RegistryFixture, _ set: AudienceSet) async throws -> Set<ChannelID> {
        let reply = try await fixture.command("SMEMBERS", fixture.keys.members(fixture.app, set))
        return Set(try reply.array().compactMap { ChannelID(stored: try $0.bytes()) })
    }

    private func tags(add: [ExactText: Set<ExactText>] = [:], remove: [ExactText: Set<ExactText>] = [:]) -> TagChange {
        var change = TagChange()
        (change.add, change.remove) = (add, remove)
        return change
    }

    @Test func `each channel is changed in its own way`() async throws {
        try await RegistryFixture.run { fixture in
            let (a, b, c) = (try ChannelID("a"), try ChannelID("b"), try ChannelID("c"))
            let refused = try await fixture.channels.apply(
                fixture.app,
                [
                    ChannelChange(channel: a, tags: tags(add: ["g": ["gold"]]), namedUser: .user("ann")),
                    ChannelChange(channel: b, namedUser: .user("bob")),
                    ChannelChange(channel: c, tags: tags(add: ["g": ["gold", "new"]])),
                ])
            #expect(refused == [])
            #expect(try await members(fixture, .tag("gold", group: "g")) == [a, c])
            #expect(try await members(fixture, .namedUser("ann")) == [a])
            #expect(try await members(fixture, .namedUser("bob")) == [b])
            _ = try await fixture.channels.apply(
                fixture.app,
                [
                    ChannelChange(channel: a, namedUser: .removed),
                    ChannelChange(channel: b, tags: tags(add: ["g": ["gold"]])),
                ])
            #expect(try await members(fixture, .namedUser("ann")) == [])
            #expect(try await members(fixture, .namedUser("bob")) == [b], "it was not mentioned")
            #expect(try await members(fixture, .tag("gold", group: "g")) == [a, b, c])
        }
    }

    @Test func `the changes of one channel are made in their order`() async throws {
        let names = try ["a", "b", "a", "a", "c", "b"].map { try ChannelID($0) }
        #expect(Channels.turns(names) == [[0, 1, 4], [2, 5], [3]])
        try await RegistryFixture.run { fixture in
            let channel = try ChannelID("a")
            let (on, off) = (tags(add: ["g": ["t"]]), tags(remove: ["g": ["t"]]))
            for (changes, isIn) in [([on, off, on], true), ([off, on, off], false)] {
                _ = try await fixture.channels.apply(
                    fixture.app, changes.map { ChannelChange(channel: channel, tags: $0) })
                #expect(try await members(fixture, .tag("t", group: "g")) == (isIn ? [channel] : []))
            }
        }
    }

    @Test func `a channel with too many tags is refused alone, also by a change too long for one script`() async throws
    {
        try await RegistryFixture.run { fixture in
            var channels = fixture.channels
            channels.maximumTags = 3
            let ids = try (0..<4).map { try ChannelID("c-\($0)") }
            let long = Set((0..<600).map { ExactText("t\($0)") })
            let refused = try await channels.apply(
                fixture.app,
                [
                    ChannelChange(channel: ids[0], tags: tags(add: ["g": ["1", "2", "3"]])),
                    ChannelChange(channel: ids[1], tags: tags(add: ["g": ["1", "2", "3", "4"]])),
                    ChannelChange(channel: ids[2], tags: tags(add: ["g": long])),
                    ChannelChange(channel: ids[3], tags: tags(add: ["g": ["1"]])),
                    ChannelChange(channel: ids[0], tags: tags(add: ["g": ["4"]])),
                ])
            #expect(refused == [1, 2, 4])
            #expect(try await members(fixture, .tag("1", group: "g")) == [ids[0], ids[3]])
            #expect(try await members(fixture, .tag("4", group: "g")) == [])
        }
    }

    @Test func `changes beyond one round trip are all made`() async throws {
        try await RegistryFixture.run { fixture in
            let ids = try (0..<1_200).map { try ChannelID("c-\($0)") }
            let changes = ids.enumerated().map { ChannelChange(channel: $1, namedUser: .user("u-\($0 % 3)")) }
            #expect(try await fixture.channels.apply(fixture.app, changes) == [])
            for user in 0..<3 {
                #expect(try await members(fixture, .namedUser("u-\(user)")).count == 400)
            }
        }
    }
}
