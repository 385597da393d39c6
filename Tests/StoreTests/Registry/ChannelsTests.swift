import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store
@testable import StoreRegistry

@Suite struct ChannelsTests {
    private func members(_ fixture: RegistryFixture, _ set: AudienceSet) async throws -> Set<ChannelID> {
        let reply = try await fixture.command("SMEMBERS", fixture.keys.members(fixture.app, set))
        return Set(try reply.array().compactMap { ChannelID(stored: try $0.bytes()) })
    }

    private func fields(_ fixture: RegistryFixture, _ channel: ChannelID) async throws -> [String: String] {
        let items = try await fixture.command("HGETALL", fixture.keys.channel(fixture.app, channel)).array()
        var fields: [String: String] = [:]
        for index in stride(from: 0, to: items.count, by: 2) {
            fields[try items[index].string()] = try items[index + 1].string()
        }
        return fields
    }

    @Test func `tags are added removed and replaced by group`() async throws {
        try await RegistryFixture.run { fixture in
            let (channels, app) = (fixture.channels, fixture.app)
            let (first, second) = (ChannelID.random(), try ChannelID("customer 7"))
            var change = TagChange()
            change.add = ["device": ["a", "b"], "x:y": ["{1}", "2%"]]
            try await channels.tag(app, [first, second], change)
            #expect(try await members(fixture, .tag("{1}", group: "x:y")) == [first, second])

            change = TagChange()
            change.remove = ["device": ["a", "never there"]]
            try await channels.tag(app, [first], change)
            #expect(try await members(fixture, .tag("a", group: "device")) == [second])

            change = TagChange()
            change.set = ["device": ["c"]]
            try await channels.tag(app, [first, second], change)
            #expect(try await members(fixture, .tag("b", group: "device")) == [])
            #expect(try await members(fixture, .tag("c", group: "device")) == [first, second])
            #expect(try await members(fixture, .tag("2%", group: "x:y")) == [first, second], "another group")
            change.set = ["device": []]
            try await channels.tag(app, [second], change)
            #expect(try await members(fixture, .tag("c", group: "device")) == [first])

            let left = try await fields(fixture, second).filter { $0.key.hasPrefix("t:") }
            #expect(left == ["t:x%3Ay:%7B1%7D": "1", "t:x%3Ay:2%25": "1"])
        }
    }

    @Test(arguments: [(0, 500), (10, 500), (500, 200), (1_000, 100), (200_000, 1)])
    func `a call for many channels with many tags is sent in parts`(arguments: Int, channels: Int) {
        #expect(Channels.batchSize(of: arguments) == channels)
    }

    @Test func `a channel has one named user`() async throws {
        try await RegistryFixture.run { fixture in
            let (channels, app) = (fixture.channels, fixture.app)
            let channel = ChannelID.random()
            try await channels.register(app, channel, tags: TagChange(), namedUser: "ann")
            try await channels.register(app, channel, tags: TagChange(), namedUser: nil)
            #expect(try await members(fixture, .namedUser("ann")) == [channel])
            try await channels.associate(app, channel, namedUser: "bob")
            #expect(try await members(fixture, .namedUser("ann")) == [])
            try await channels.disassociate(app, channel, namedUser: "ann")
            #expect(try await members(fixture, .namedUser("bob")) == [channel], "it is bob's by now")
            try await channels.disassociate(app, channel, namedUser: nil)
            #expect(try await members(fixture, .namedUser("bob")) == [])
            let record = try await fields(fixture, channel)
            #expect(record["created"] == "\(TestTime.start)" && record["seen"] == "\(TestTime.start)")
            #expect(Set(record.keys) == ["created", "seen", "renewed", "v"])
        }
    }

    /// The record holds the unfinished change, so the next change of any kind finishes it.
    @Test func `what a dead process left is finished`() async throws {
        try await RegistryFixture.run { fixture in
            let (channels, app) = (fixture.channels, fixture.app)
            let channel = ChannelID.random()
            var change = TagChange()
            change.add = ["device": ["old"]]
            try await channels.tag(app, [channel], change)
            // The process died after it wrote the record and before it wrote the sets.
            _ = try await fixture.redis.send(
                mark(fixture.keys.channel(app, channel), "set", "t:device:", 1, "t:device:new"))
            #expect(try await members(fixture, .tag("old", group: "device")) == [channel])
            try await channels.register(app, channel, tags: TagChange(), namedUser: nil)
            #expect(try await members(fixture, .tag("old", group: "device")) == [])
            #expect(try await members(fixture, .tag("new", group: "device")) == [channel])
        }
    }

    private func mark(_ record: RedisKey, _ operations: RedisArgument...) -> RedisCommand {
        RedisCommand(Lua.channelMark, keys: ["c": record], ["now": 1, "life": 0, "crossing": 0], rest: operations)
    }

    /// The clocks of two gateways differ by some milliseconds.
    @Test func `a writer whose clock is a little slow ends no crossing`() async throws {
        try await RegistryFixture.run { fixture in
            let record = fixture.keys.channel(fixture.app, ChannelID.random())
            let (time, crossing) = (1_795_000_000_000, 60_000)
            var version = 0
            for word: RedisArgument in ["add", "remove"] {
                let marked = RedisCommand(
                    Lua.channelMark, keys: ["c": record],
                    ["now": .int(time), "life": 0, "crossing": .int(crossing)], rest: [word, "t:device:a"])
                version = try await fixture.redis.send(marked)[0].integer()
            }
            let confirm = RedisCommand(
                Lua.channelConfirm, keys: ["c": record],
                ["version": .int(version), "now": .int(time - 40), "crossing": .int(crossing)], rest: ["t:device:a"])
            #expect(try await fixture.redis.send(confirm).integer() == 1)
            let sign = try await fixture.redis.send(RedisCommand("HGET", record, "t:device:a")).string()
            #expect(sign == "-\(time + crossing)")
        }
    }

    /// A writer whose change was replaced by another one must not confirm its own.
    @Test func `an overtaken writer looks again`() async throws {
        try await RegistryFixture.run { fixture in
            let channel = ChannelID.random()
            let record = fixture.keys.channel(fixture.app, channel)
            let slow = try await fixture.redis.send(mark(record, "add", "t:device:a"))
            let version = try slow[0].integer()
            var change = TagChange()
            change.remove = ["device": ["a"]]
            try await fixture.channels.tag(fixture.app, [channel], change)

            let set = fixture.keys.members(fixture.app, .tag("a", group: "device"))
            _ = try await fixture.command("SADD", set, .bytes(channel.stored))
            let confirm = RedisCommand(
                Lua.channelConfirm, keys: ["c": record], ["version": .int(version), "now": 1, "crossing": 60_000],
                rest: ["t:device:a"])
            #expect(try await fixture.redis.send(confirm).integer() == 0)
            let again = try await fixture.redis.send(mark(record, "again", "t:device:a"))
            #expect(again.count == 3)
            #expect(try again[1].string() == "t:device:a")
            #expect(try again[2].string() == "-")
            // The next change of any kind finishes it too.
            try await fixture.channels.register(fixture.app, channel, tags: TagChange(), namedUser: nil)
            #expect(try await members(fixture, .tag("a", group: "device")) == [])

            // Another writer has confirmed already, so nothing is confirmed twice.
            _ = try await fixture.redis.send(mark(record, "add", "t:device:b"))
            _ = try await fixture.redis.send(mark(record, "remove", "t:device:b"))
            #expect(try await fixture.redis.send(confirm).integer() == 0)
            #expect(try await fields(fixture, channel)["t:device:b"] == "-1")
        }
    }

    /// The limit holds for all groups together and for all ways to add. A channel over the limit can still lose tags.
    @Test func `a channel has so many tags and no more`() async throws {
        try await RegistryFixture.run { fixture in
            var channels = fixture.channels
            channels.maximumTags = 4
            let app = fixture.app
            let (channel, other) = (ChannelID.random(), ChannelID.random())
            func change(_ tags: [String], in group: String = "g") -> TagChange {
                var change = TagChange()
                change.add = [ExactText(group): Set(tags.map { ExactText($0) })]
                return change
            }
            try await channels.tag(app, [channel], change(["a", "b", "c"]))
            let before = try await fields(fixture, channel)
            let tooMany = StoreError.tooManyTags(channel, limit: 4)
            await #expect(throws: tooMany) {
                try await channels.tag(app, [channel, other], change(["d", "e"], in: "h"))
            }
            #expect(try await fields(fixture, channel) == before, "it was not changed")
            #expect(try await members(fixture, .tag("d", group: "h")) == [other], "others of the call were")
            var set = TagChange()
            set.set = ["h": ["1", "2"]]
            await #expect(throws: tooMany) { try await channels.tag(app, [channel], set) }
            // The same for a call that is too long for one script.
            await #expect(throws: tooMany) {
                try await channels.tag(app, [channel], change((0..<600).map { "many\($0)" }))
            }
            #expect(try await fields(fixture, channel) == before, "no part of it was changed")
            // The channel has as many tags as allowed. The named user and the system's tag do not count,
            // nor does a repeated tag.
            try await channels.register(app, channel, tags: change(["d"], in: "h"), namedUser: "ann")
            try await channels.tag(app, [channel], change(["a", "b"]))
            set.set = ["g": ["a", "x", "y"]]
            try await channels.tag(app, [channel], set)
            #expect(try await members(fixture, .tag("x", group: "g")) == [channel])

            // This record is from before there was a limit.
            let record = fixture.keys.channel(app, other)
            let old = (0..<40).flatMap { ["t:g:old\($0)", "1"] }.map { RedisArgument.string($0) }
            _ = try await fixture.redis.send(RedisCommand("HSET", record, old))
            await #expect(throws: StoreError.tooManyTags(other, limit: 4)) {
                try await channels.tag(app, [other], change(["z"]))
            }
            var removal = TagChange()
            removal.remove = ["g": ["old1", "old2"]]
            try await channels.tag(app, [other], removal)
            #expect(try await fields(fixture, other).keys.count { $0.hasPrefix("t:g:old") } == 38)
        }
    }

    /// Redis serves no other client while it runs a script.
    @Test func `a call with many groups and tags reads a record a few times and writes it a few times`() async throws {
        try await RegistryFixture.run { fixture in
            let (channels, app, channel) = (fixture.channels, fixture.app, ChannelID.random())
            func tags(_ count: Int, _ word: String) -> [ExactText: Set<ExactText>] {
                var groups: [ExactText: Set<ExactText>] = [:]
                for group in 0..<100 {
                    groups[ExactText("g\(group)")] = Set((0..<count).map { ExactText("\(word)\($0)") })
                }
                return groups
            }
            var first = TagChange()
            first.set = tags(10, "old")
            try await channels.tag(app, [channel], first)
            try await fixture.redis.everywhere("CONFIG", "RESETSTAT")
            var second = TagChange()
            second.set = tags(3, "new")
            second.add = tags(2, "more")
            second.remove = tags(2, "new")
            try await channels.tag(app, [channel], second)
            // Once for the limit, and once for each half of the 700 tags.
            #expect(try await fixture.redis.calls(of: "hgetall") == 3)
            #expect(try await fixture.redis.calls(of: "hkeys") == 0)
            // The call makes 1,700 changes. One command confirms each of the 500 additions.
            #expect(try await fixture.redis.calls(of: "hset") < 520)
            let fields = try await fields(fixture, channel)
            #expect(fields.count { $0.key.hasPrefix("t:") && $0.value == "1" } == 300)
            #expect(fields["t:g7:new2"] == "1" && fields["t:g7:more0"] == "1" && fields["t:g7:new0"] != "1")
            #expect(try await members(fixture, .tag("old3", group: "g99")) == [])
            #expect(try await members(fixture, .tag("more1", group: "g99")) == [channel])
        }
    }

    /// Tags that Unicode treats as the same text are two tags.
    @Test func `tags are told apart by their bytes`() async throws {
        try await RegistryFixture.run { fixture in
            let channel = ChannelID.random()
            var change = TagChange()
            change.add = ["device": ["caf\u{E9}"]]
            try await fixture.channels.tag(fixture.app, [channel], change)
            #expect(try await members(fixture, .tag("cafe\u{301}", group: "device")) == [])
            let page = page(of: [channel])
            let written = Audience.tag("caf\u{E9}", group: "device")
            let other = Audience.tag("cafe\u{301}", group: "device")
            #expect(try await fixture.channels.filter(fixture.app, page, .and([written, .not(other)])).count == 1)
        }
    }

    /// Record and sets agree in the end, whichever writer is last.
    @Test func `writers in each others way leave record and sets in agreement`() async throws {
        try await RegistryFixture.run { fixture in
            let (channels, app) = (fixture.channels, fixture.app)
            let channel = ChannelID.random()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for writer in 0..<4 {
                    group.addTask {
                        for turn in 0..<50 {
                            var change = TagChange()
                            switch (writer + turn) % 3 {
                            case 0: change.add = ["device": ["a", "b"]]
                            case 1: change.remove = ["device": ["a"]]
                            default: change.set = ["device": ["b"]]
                            }
                            try await channels.tag(app, [channel], change)
                        }
                    }
                }
                try await group.waitForAll()
            }
            let record = try await fields(fixture, channel)
            for tag in ["a", "b"] {
                let isMember = try await members(fixture, .tag(tag, group: "device")).contains(channel)
                let sign = record["t:device:\(tag)"]?.first
                #expect(isMember ? sign == "1" || sign == "+" : sign == nil || sign == "-")
            }
        }
    }

    @Test func `an audience is answered as its definition says`() async throws {
        try await RegistryFixture.run { fixture in
            let (channels, app) = (fixture.channels, fixture.app)
            let other = try AppKey("other")
            let ids = try mixedChannels(200)
            try await channels.tag(app, every(2, of: ids), adding("even", "device"))
            try await channels.tag(app, every(3, of: ids), adding("red", "team"))
            for index in [5, 6] { try await channels.associate(app, ids[index], namedUser: "ann") }

            let page = page(of: ids)
            for audience in audiences(ids) {
                let filtered = try await channels.filter(app, page, audience)
                let expected = ids.indices.filter { belongs($0, ids[$0], to: audience) }
                #expect(filtered.entries.map { Int($0.registeredAt) } == expected, "\(audience)")
                #expect((0..<filtered.count).allSatisfy { Array(filtered.channel($0)) == ids[expected[$0]].stored })
            }
            #expect(try await channels.filter(other, page, .tag("even", group: "device")).isEmpty)
            #expect(try await channels.filter(app, TokenPage(), .namedUser("ann")).isEmpty)
        }
    }
}

/// The expected members, one channel at a time. Even numbers have the tag `even`, every third is in team red,
/// and 5 and 6 are Ann's.
private func belongs(_ index: Int, _ channel: ChannelID, to audience: Audience) -> Bool {
    audience.matches(channel) { set in
        switch set {
        case .tag("even", "device"): index % 2 == 0
        case .tag("red", "team"): index % 3 == 0
        case .namedUser("ann"): index == 5 || index == 6
        default: false
        }
    }
}

private func page(of ids: [ChannelID]) -> TokenPage {
    var page = TokenPage()
    for (index, id) in ids.enumerated() {
        page.append(channel: id.stored, token: PushToken.test(index).bytes, registeredAt: Int64(index))
    }
    return page
}

private func audiences(_ ids: [ChannelID]) -> [Audience] {
    let even = Audience.tag("even", group: "device")
    let red = Audience.tag("red", group: "team")
    return [
        .all, even, red, .tag("red", group: "device"), .tag("nobody", group: "team"), .namedUser("ann"),
        .channel(ids[10]), .channel(.random()), .not(even), .or([even, red]), .and([even, red]),
        .and([even, .not(red), .not(.namedUser("ann"))]), .not(.or([even, red, .channel(ids[7])])),
        .or(ids.prefix(50).map(Audience.channel)), .and([.all, .not(.all)]), .not(.not(red)),
        .or((0..<100).map { .tag("t\($0)", group: "many") } + [red]),
    ]
}

private func mixedChannels(_ count: Int) throws -> [ChannelID] {
    try (0..<count).map { $0 % 10 == 0 ? try ChannelID("foreign-\($0)") : ChannelID.random() }
}

private func every(_ step: Int, of ids: [ChannelID]) -> [ChannelID] {
    stride(from: 0, to: ids.count, by: step).map { ids[$0] }
}

private func adding(_ tag: String, _ group: String) -> TagChange {
    var change = TagChange()
    change.add = [ExactText(group): [ExactText(tag)]]
    return change
}
