import LiveActivity
import Redis
import Testing

@testable import Store
@testable import StoreDeliveries
@testable import StoreGround
@testable import StoreRegistry

/// A name is its UTF-8 bytes. Swift compares and splits by Characters, where a combining mark joins the
/// separator before it.
@Suite struct NamesAsBytesTests {
    /// Scalars that extend the Character before them, join it with the next one, or have a meaning for Lamplighter.
    static let edges: [Unicode.Scalar] = [
        "\u{301}", "\u{300}", "\u{200D}", "\u{200C}", "\u{FE0F}", "\u{1F3FD}", "\u{E33}", "\u{93E}", "\u{94D}",
        "\u{64E}",
        "\u{5B0}", "\u{E31}", "\u{F35}", "\u{302A}", "\u{3099}", "\u{31F}", "\u{315}", "\u{334}", "\u{345}", "\u{35C}",
        "\u{1161}", "\u{11A8}", "\u{600}", "\u{1F1E9}", "\u{E0067}", "\u{20E3}", "\u{FF9E}", "\u{1D165}", "\u{10FFFF}",
        " ", "%", "{", "}", ":", "/", "*", "e", "K", "\u{212A}", "\u{37E}", "\u{E9}",
    ]

    /// Texts of one to four scalars. Each begins with an edge scalar, followed by edges or any others. They are
    /// the same on each run.
    static func texts(_ count: Int, seed: UInt64) -> [String] {
        var random = TestRandom(seed: seed)
        return (0..<count).map { index in
            var scalars = String.UnicodeScalarView()
            scalars.append(edges[index % edges.count])
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let any = Unicode.Scalar(UInt32.random(in: 0xA0...0x1FFFF, using: &random))
                scalars.append(Bool.random(using: &random) ? edges.randomElement(using: &random)! : any ?? "x")
            }
            return String(scalars) + "\(index)"
        }
    }

    @Test func `what is written with a name and a separator is read back as it was`() throws {
        let app = try AppKey("shop")
        let id = PushID.random()
        for text in Self.texts(2_000, seed: 1) {
            let name = try ActivityName(text)
            let indexed = PushIndex.push(id.uuid.bytes + Array(text.utf8))
            #expect(indexed?.id == id && indexed?.name == name, "\(text.debugDescription)")
            let item = WorkItem(app: app, name: name, push: id, priority: .low, part: .shard(index: 1, count: 2))
            #expect(WorkItem(member: item.member) == item, "\(text.debugDescription)")
            let dead = DeadLetters.pushAndName(DeadLetters.member(id, name))
            #expect(dead?.0 == id && dead?.1 == name, "\(text.debugDescription)")
            let task = EndTask(app: app, name: name, cutoff: 17)
            #expect(EndTask(app: app, member: task.member) == task, "\(text.debugDescription)")
            for place in [TokenPlace.activity(name), .startTokens(of: text)] {
                #expect(try TokenPlace(stored: place.stored) == place)
            }
        }
    }

    /// Every scalar that joins the Character before or behind it, in the planes that have any.
    @Test func `no scalar that joins its neighbours takes a separator with it`() throws {
        let app = try AppKey("shop")
        let id = PushID.random()
        let keys = Keyspace(prefix: "ll")
        var joining = 0
        for value in Array(UInt32(0x80)...0x1FFFF) + Array(0xE0000...0xE0FFF) {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let text = String(scalar)
            guard (":" + text).count == 1 || (text + ":").count == 1,
                let name = try? ActivityName(text)
            else { continue }
            joining += 1
            #expect(PushIndex.push(id.uuid.bytes + Array(text.utf8))?.name == name, "U+\(String(value, radix: 16))")
            let item = WorkItem(app: app, name: name, push: id, priority: .low, part: .name)
            #expect(WorkItem(member: item.member) == item, "U+\(String(value, radix: 16))")
            for set in [AudienceSet.tag(text, group: text), .namedUser(text)] {
                #expect(keys.members(app, field: Keyspace.field(set)) == keys.members(app, set))
            }
        }
        #expect(joining > 2_000, "\(joining)")
    }

    @Test func `no two names or sets share a key, and each key is on the slot of its own tag`() throws {
        let app = try AppKey("shop")
        let keys = Keyspace(prefix: "ll")
        var owners: [[UInt8]: String] = [:]
        func claim(_ key: RedisKey, _ owner: String) {
            let bytes = Array(key.description.utf8)
            if let other = owners.updateValue(owner, forKey: bytes) {
                #expect(other == owner, "\(owner.debugDescription) has the key of \(other.debugDescription)")
            }
            #expect(bytes.count { $0 == UInt8(ascii: "{") } == 1 && bytes.count { $0 == UInt8(ascii: "}") } == 1)
        }
        let texts = Self.texts(1_000, seed: 2)
        for text in texts { claim(keys.root(keys.tag(app, try ActivityName(text))), "name \(Array(text.utf8))") }
        for (one, other) in zip(texts, texts.reversed()) {
            for (group, tag) in [(one, other), ("\(one):\(other)", "z"), (one, "z:\(other)")] {
                let set = AudienceSet.tag(tag, group: group)
                claim(keys.members(app, set), "tag \(Array(group.utf8)) \(Array(tag.utf8))")
                let field = Keyspace.field(set)
                #expect(keys.members(app, field: field) == keys.members(app, set))
            }
            let user = AudienceSet.namedUser(one)
            claim(keys.members(app, user), "user \(Array(one.utf8))")
            let key = keys.members(app, field: Keyspace.field(user))
            #expect(key == keys.members(app, user))
        }
    }

    static let oddNames = [
        "\u{301}x", "\u{200D}", "\u{FE0F}a b", "\u{1F3FD}", "\u{E33}{", "}\u{301}1", "e\u{301}", "\u{E9}",
    ]

    /// The way of a push under such a name: it is sent to its end, and found in the ledger and in every list.
    @Test(arguments: oddNames)
    func `a push for any name is kept, moved, woken and given back`(text: String) async throws {
        let fixture = try await PushFixture.start()
        let (store, app) = (fixture.store, fixture.app)
        let name = try ActivityName(text)
        try await fixture.track(text, count: 1)
        let id = try await fixture.accepted(text)
        #expect(try await fixture.ledger(id).name == name)
        #expect(try await store.names.page(app, prefix: "", after: nil, limit: 10) == [name])
        let found = try await store.queue.reconcile([app], before: .max / 2, now: 1, limit: 10)
        #expect(found == Reconciliation(woken: 1), "it is not thrown away")

        let item = WorkItem(app: app, name: name, push: id, priority: .high, part: .name)
        try await store.queue.schedule(item, due: 5)
        #expect(try await store.queue.moveDue([app], now: 10, limit: 10).moved == 1, "it goes back to its stream")

        let claim = try await fixture.claimed(text, id)
        var settlement = Settlement(range: claim.lease.bounds)
        settlement.targets = 1
        settlement.count(.failed, 1)
        settlement.giveUp([1, 2], reason: "Quarantined")
        try await store.deadLetters.enlist(app, name, [id])
        _ = try await fixture.settle(claim, settlement)
        #expect(try await store.deadLetters.list(app, after: nil, limit: 10).map(\.name) == [name])

        _ = try await store.broadcasts.want(app, name, .none, now: 5)
        #expect(try await store.queue.nextDue([app]).broadcastChannels == [app: 5])
    }

    /// An audience finds the channels of exactly its own set.
    @Test func `groups, tags and users are told apart by their bytes`() async throws {
        try await RegistryFixture.run { fixture in
            let (channels, app) = (fixture.channels, fixture.app)
            for (index, text) in Self.texts(2 * Self.edges.count, seed: 3).enumerated() {
                let channel = try ChannelID("c\(index)")
                var change = TagChange()
                change.add[ExactText(text)] = [ExactText(text)]
                try await channels.register(app, channel, tags: change, namedUser: text)
                for set in [AudienceSet.tag(text, group: text), .namedUser(text)] {
                    let key = fixture.keys.members(app, set)
                    let reply = try await fixture.command("SISMEMBER", key, .bytes(channel.stored))
                    #expect(try reply.integer() == 1, "\(text.debugDescription)")
                }
                let record = fixture.keys.channel(app, channel)
                let states = try await fixture.command("HVALS", record).array()
                for state in states {
                    #expect(try !state.string().hasPrefix("+"), "\(text.debugDescription) is settled")
                }
            }
            let channel = ChannelID.random()
            var change = TagChange()
            change.add = ["\u{E9}": ["composed"], "e\u{301}": ["decomposed", "\u{E9}", "e\u{301}"]]
            #expect(change.add.count == 2 && change.add["e\u{301}"]?.count == 3, "as Unicode sees it they are one")
            try await channels.tag(app, [channel], change)
            let fields = try await fixture.command("HLEN", fixture.keys.channel(app, channel)).integer()
            #expect(fields == 4 + 4, "created, seen, renewed, v and four tags")
        }
    }
}

/// A small generator whose numbers are the same on each run (SplitMix64).
struct TestRandom: RandomNumberGenerator {
    private var state: UInt64
    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
