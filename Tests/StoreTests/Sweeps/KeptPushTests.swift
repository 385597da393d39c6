import LiveActivity
import Redis
import Synchronization
import TestSupport
import Testing

@testable import Store
@testable import StoreDeliveries
@testable import StoreGround

/// A lone push that ends in the usual case becomes a record in its name's block. Nobody can tell it from one that has a
/// hash of its own.
@Suite struct KeptPushTests {
    private static let name = "order-1"
    let name = try! ActivityName(KeptPushTests.name)
    private static let acceptedAt: Int64 = 1_795_000_000_000

    private func block(_ fixture: PushFixture, _ id: PushID) -> RedisKey {
        fixture.store.keys.keptPushes(fixture.store.keys.tag(fixture.app, name), id)
    }

    private func own(_ fixture: PushFixture, _ id: PushID) -> RedisKey {
        fixture.store.keys.push(fixture.store.keys.tag(fixture.app, name), id)
    }

    /// Its record. Nil: it is not kept.
    private func kept(_ fixture: PushFixture, _ id: PushID) async throws -> [UInt8]? {
        let command = RedisCommand("HGET", block(fixture, id), .bytes(id.uuid.bytes))
        return try await fixture.store.redis.run(command).optionalBytes().map { Array($0) }
    }

    private func isKept(_ fixture: PushFixture, _ id: PushID) async throws -> Bool {
        let hasOwn = try await fixture.store.redis.send(RedisCommand("EXISTS", own(fixture, id))).integer() == 1
        let isKept = try await kept(fixture, id) != nil
        #expect(hasOwn != isKept, "it is at one place")
        return isKept
    }

    private func fields(_ fixture: PushFixture, _ id: PushID) async throws -> [String: String] {
        let tag = fixture.store.keys.tag(fixture.app, name)
        let fields = try await fixture.store.redis.pushFields(fixture.store.keys, [(tag, id)])
        var pairs = Dictionary(uniqueKeysWithValues: fields[0].pairs)
        #expect((pairs.removeValue(forKey: "finished").flatMap { Int64($0) } ?? 0) > 1_790_000_000_000)
        // Redis's clock, which says when the push began, is far from the time of acceptance.
        pairs["waited"] = nil
        return pairs
    }

    /// Lets the name's lone push begin as soon as it was accepted.
    private func beginAtOnce(_ fixture: PushFixture) async throws {
        let meta = try fixture.key(Keyspace.name, Self.name)
        let newest = try await fixture.store.redis.run("HGET", meta, "newest").string().split(separator: " ")
        let words = newest.dropLast() + ["\(Self.acceptedAt)"]
        try await fixture.store.redis.run("HSET", meta, "newest", .string(words.joined(separator: " ")))
    }

    /// A push that was delivered to one token. If it is to have its own hash, its lone push is unpacked before.
    func done(
        _ fixture: PushFixture, hasOwn: Bool = false, id: PushID? = nil, now: Int64 = acceptedAt
    ) async throws -> PushID {
        let acceptance = try await fixture.publish(Self.name, id: id, now: now)
        guard case .accepted(let id, _, _) = acceptance else { throw Unexpected(what: "\(acceptance)") }
        let claim = try await fixture.claimed(Self.name, id)
        if hasOwn { try await fixture.unpack(Self.name) }
        _ = try await fixture.deliver(claim, targets: 1)
        #expect(try await isKept(fixture, id) != hasOwn)
        return id
    }

    private struct Variant: CustomTestStringConvertible {
        var what: String
        var priority = PushPriority.high
        var alert = false
        var options = PublishOptions()
        var timestamp: Int?
        var payload = #"{"aps":{"timestamp":0000000000,"event":"update","content-state":{"home":3}}}"#
        var publisher: Publisher?
        var traceparent: String?
        var events: EventPolicy?
        var idAge: Int64 = 0
        var isKept = true
        var page = whole(1, .delivered)
        var testDescription: String { what }
    }

    /// A page whose targets all have this outcome.
    private static func whole(_ targets: Int, _ outcome: SettledField) -> @Sendable (inout Settlement) -> Void {
        { page in
            page.targets = targets
            page.count(outcome, targets)
        }
    }

    private static let all = Publisher(credential: "shop", address: "10.0.0.1", who: "Ann B", whoID: "7 \u{FC}")
    private static let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    private static let variants: [Variant] = [
        Variant(what: "default"), Variant(what: "low priority", priority: .low), Variant(what: "alert", alert: true),
        Variant(what: "insists", options: PublishOptions(insist: true)),
        Variant(what: "expiry", options: PublishOptions(expiry: 1_795_000_600)),
        Variant(what: "once", options: PublishOptions(conflate: false, expiry: 0)),
        Variant(what: "once, superseded", options: PublishOptions(expiry: 0)),
        Variant(what: "own timestamp", timestamp: 1_894_999_000),
        Variant(what: "told", events: EventPolicy(keep: 1_000)),
        Variant(what: "publisher", publisher: all), Variant(what: "trace", traceparent: trace),
        Variant(
            what: "all", priority: .low, options: PublishOptions(expiry: 1_795_000_600), timestamp: 1_894_999_000,
            publisher: all, traceparent: trace, events: EventPolicy(keep: 1_000)),
        Variant(
            what: "more than its content state",
            payload: #"{"aps":{"timestamp":0000000000,"event":"update","content-state":{},"stale-date":1}}"#),
        Variant(what: "another payload", payload: "{\"aps\":{\"timestamp\":0000000000},\n\"x\":\"\u{e9} \\n\"}"),
        Variant(what: "silent phones", payload: #"{"aps":{"timestamp":0000000000}}"# + "\0\0\0\0\01\0\0{}"),
        Variant(what: "nobody", page: { _ in }),
        Variant(what: "three", page: whole(3, .delivered)),
        Variant(what: "65,536", page: whole(65_536, .delivered)),
        Variant(
            what: "other outcomes",
            page: { page in
                page.targets = 300
                page.count(.delivered, 250)
                page.addSkipped(20)
                page.addQuarantined(30)
                page.countResent(2, on: .ios)
                page.demoted = 3
                page.count(error: "InternalServerError")
            }),
        Variant(what: "as many failed", page: whole(2, .failed)),
        Variant(
            what: "a large payload",
            payload: #"{"aps":{"timestamp":0000000000,"x":""# + String(repeating: "x", count: 1_100) + #""}}"#,
            isKept: false),
        Variant(what: "an older id", idAge: 3_600_001, isKept: false),
        Variant(what: "an id of the hour before", idAge: 3_600_000),
        Variant(what: "an id of a later time", idAge: -3_600_000),
        Variant(what: "a far deadline", options: PublishOptions(expiry: 1_800_000_000), isKept: false),
    ]

    @Test(arguments: variants.indices)
    func `its fields are those of a push with a hash of its own`(index: Int) async throws {
        let variant = Self.variants[index]
        var found: [[[String: String]]] = []
        let ids = (0..<2).map { PushID.ordered(at: Self.acceptedAt - variant.idAge, index: $0) }
        for isAlone in [false, true] {
            let fixture = try await PushFixture.start(events: variant.events)
            var publish = Publish(
                name: name, event: .update, audience: .all, priority: variant.priority, timestamp: variant.timestamp,
                alert: variant.alert ? RawJSON(checked: #"{"title":"t"}"#) : nil, options: variant.options)
            (publish.publisher, publish.traceparent) = (variant.publisher, variant.traceparent)
            var pushes: [[String: String]] = []
            for id in ids {
                func accept() async throws {
                    _ = try await fixture.store.pushes.accept(
                        fixture.app, publish, id: id, payload: Array(variant.payload.utf8), timestampOffset: 20,
                        now: Self.acceptedAt)
                }
                if isAlone { try await accept() } else { try await fixture.withOwnKeys(Self.name, accept) }
                let claim = try await fixture.claimed(Self.name, id)
                try await beginAtOnce(fixture)
                var page = Settlement(range: claim.lease.bounds)
                variant.page(&page)
                guard case .ok(.done, true, _) = try await fixture.settle(claim, page) else {
                    throw Unexpected(what: "not done")
                }
                #expect(try await isKept(fixture, id) == (variant.isKept && isAlone))
                let ledger = try await fixture.ledger(id)
                #expect(ledger.publisher == variant.publisher && ledger.traceparent == variant.traceparent)
                let content = try #require(try await fixture.store.pushes.content(fixture.app, id))
                let size = variant.payload.utf8.prefix { $0 != 0 }.count
                #expect(content.payload.count == size && content.audience == .all)
                pushes.append(try await fields(fixture, id))
            }
            found.append(pushes)
        }
        #expect(found[0] == found[1] && found[1][1]["prev"] == ids[0].description)
    }

    /// The bytes that the Lua writes, and the Swift reads.
    @Test func `its bytes are those of the format`() async throws {
        let fixture = try await PushFixture.start(events: EventPolicy(keep: 1_000))
        let previous = try #require(PushID("0000019f-0000-7000-8000-00000000000a"))
        let id = try #require(PushID("01a1ee56-5e00-7000-8000-0123456789ab"))
        #expect(id.uuid.time == Self.acceptedAt)
        let meta = try fixture.key(Keyspace.name, Self.name)
        try await fixture.store.redis.send(
            RedisCommand("HSET", meta, "last", .string(previous.description), "seq", "65535"))
        var publish = Publish(
            name: name, event: .update, audience: .all, priority: .low, timestamp: 1_894_999_000,
            options: PublishOptions(expiry: 1_795_000_600))
        publish.publisher = Publisher(credential: "a", address: "b")
        publish.traceparent = "tp"
        let payload = #"{"aps":{"timestamp":0000000000,"event":"update","content-state":{"a":1}}}"#
        _ = try await fixture.store.pushes.accept(
            fixture.app, publish, id: id, payload: Array(payload.utf8), timestampOffset: 20, now: Self.acceptedAt + 5)
        let claim = try await fixture.claimed(Self.name, id)
        try await beginAtOnce(fixture)
        var page = Settlement(range: claim.lease.bounds)
        page.targets = 2
        page.count(.failed, 2)
        _ = try await fixture.settle(claim, page)
        _ = try await fixture.store.receipts.count(
            fixture.app, [Receipt(push: id, event: .ended, channel: .random())], now: Self.acceptedAt + 5)
        var record = try #require(try await kept(fixture, id))
        let finished = try #require(try await fixture.ledger(id).finishedAt)
        #expect(Array(record[12..<16]) == bigEndian(UInt32(finished - Self.acceptedAt - 5)))
        record.replaceSubrange(12..<16, with: [0, 0, 0, 9])
        let golden =
            "37e7" + "010000" + "800005" + "000927bb" + "00000009" + "0000019f00007000800000000000000a"
            + "000000010000" + "0070f363d8" + "0207000002" + Hex.encode(Array("targets".utf8)) + "06000002"
            + Hex.encode(Array("failed".utf8)) + "03" + Hex.encode(Array("a b".utf8)) + "02"
            + Hex.encode(Array("tp".utf8)) + Hex.encode(Array(#"{"a":1}"#.utf8))
        #expect(Hex.encode(record) == golden)
        let read = try #require(KeptPush(id, record[...]))
        #expect(read.fields.number("finished").map { Int64($0) } == Self.acceptedAt + 14)
        #expect(read.fields.number("until") == 1_795_000_600_000 && read.fields.number("expiry") == 1_795_000_600)
        #expect(read.fields.text("payload") == payload.replacing("0000000000", with: "1894999000"))
        #expect(read.fields.text("tell") == "-1" && read.fields.text("prev") == previous.description)
        // A cut record, and one of a later version.
        for size in 0..<record.count - 7 { #expect(KeptPush(id, record.prefix(size)) == nil, "\(size)") }
        record[0] |= 0x40
        #expect(KeptPush(id, record[...]) == nil)
    }

    @Test(arguments: [false, true])
    func `receipts are counted, each device once`(hasOwn: Bool) async throws {
        let fixture = try await PushFixture.start()
        let now = Self.acceptedAt
        for _ in 0..<2 {
            let id = try await done(fixture, hasOwn: hasOwn)
            let (ann, ben) = (ChannelID.random(), ChannelID.random())
            for _ in 0..<2 {
                var receipts = [ann, ben].map { Receipt(push: id, event: .shown, channel: $0) }
                receipts.append(Receipt(push: id, event: .dismissed, channel: ann))
                let tally = try await fixture.store.receipts.count(fixture.app, receipts, now: now)
                #expect(tally == ReceiptTally(accepted: 3))
                let ledger = try await fixture.ledger(id)
                #expect(ledger.receipts == [.shown: 2, .dismissed: 1] && ledger.delivered == 1)
            }
            let ended = [Receipt(push: id, event: .ended, channel: ann)]
            #expect(try await fixture.store.receipts.count(fixture.app, ended, now: now).accepted == 1)
            #expect(try await fixture.ledger(id).receipts == [.shown: 2, .ended: 1, .dismissed: 1])
            let late = try await fixture.store.receipts.count(fixture.app, ended, now: now + 24 * 3_600_000)
            #expect(late == ReceiptTally(late: 1))
            #expect(try await isKept(fixture, id) != hasOwn)
        }
    }

    /// The counts of the record have two bytes.
    @Test func `very many receipts give it a hash of its own`() async throws {
        let fixture = try await PushFixture.start()
        let id = try await done(fixture)
        _ = try await fixture.store.receipts.count(
            fixture.app, [Receipt(push: id, event: .shown, channel: .random())], now: Self.acceptedAt)
        var record = try #require(try await kept(fixture, id))
        record.replaceSubrange(16..<22, with: [0xFF, 0xFF, 0, 0, 0, 7])
        let redis = fixture.store.redis
        try await redis.send(RedisCommand("HSET", block(fixture, id), .bytes(id.uuid.bytes), .bytes(record)))
        let devices = fixture.store.keys.receipts(fixture.store.keys.tag(fixture.app, name), id, .shown)
        try await redis.send(RedisCommand("DEL", devices))
        func tell() async throws -> [ReceiptEvent: Int] {
            let receipt = Receipt(push: id, event: .shown, channel: .random())
            _ = try await fixture.store.receipts.count(fixture.app, [receipt], now: Self.acceptedAt)
            return try await fixture.ledger(id).receipts
        }
        #expect(try await tell() == [.shown: 65_535, .dismissed: 7], "an estimate is never less")
        #expect(try await isKept(fixture, id))
        for part in Array(0..<90_000).parts(of: 3_000) {
            try await redis.send(RedisCommand("PFADD", devices, part.map { .int($0) }))
        }
        var receipts: [ReceiptEvent: Int] = [:]
        // Some devices change nothing in the estimate.
        for _ in 0..<50 where receipts[.shown] ?? 0 < 70_000 { receipts = try await tell() }
        #expect(receipts[.shown] ?? 0 > 70_000 && receipts[.dismissed] == 7 && receipts[.ended] == nil)
        #expect(try await !isKept(fixture, id))
    }

    @Test(arguments: [false, true])
    func `the same id gets the same answer and sends nothing, whatever came after it`(hasOwn: Bool) async throws {
        let fixture = try await PushFixture.start()
        // In the order of acceptance: one gateway's clock is behind another's.
        let ids = [0, 5, 3, 2, 8, 7].map { PushID.ordered(at: Self.acceptedAt + $0, index: 0) }
        for id in ids { _ = try await done(fixture, hasOwn: hasOwn, id: id) }
        for (index, id) in ids.enumerated() {
            guard case .accepted(id, index + 1, 1_795_000_000) = try await fixture.publish(Self.name, id: id) else {
                throw Unexpected(what: "another answer")
            }
            guard case .idle = try await fixture.begin(Self.name, id).begun else { throw Unexpected(what: "begun") }
            #expect(try await fixture.ledger(id).targets == 1)
        }
        // The next ones are as all are, also one with an older id.
        for time: Int64 in [4, 9] {
            _ = try await done(fixture, id: .ordered(at: Self.acceptedAt + time, index: 0))
        }
    }

    @Test(arguments: [false, true])
    func `a cancel comes too late`(hasOwn: Bool) async throws {
        let fixture = try await PushFixture.start()
        let id = try await done(fixture, hasOwn: hasOwn)
        let before = try await fields(fixture, id)
        #expect(try await fixture.store.pushes.cancel(fixture.app, id)?.state == .done)
        #expect(try await fields(fixture, id) == before)
        #expect(try await isKept(fixture, id) != hasOwn)
        #expect(try await fixture.store.pushes.cancel(fixture.app, .random()) == nil)
    }

    @Test(arguments: [false, true])
    func `a page that is settled once more is that of an old lease`(hasOwn: Bool) async throws {
        let fixture = try await PushFixture.start()
        let id = try await fixture.accepted(Self.name)
        let claim = try await fixture.claimed(Self.name, id)
        if hasOwn { try await fixture.unpack(Self.name) }
        _ = try await fixture.deliver(claim, targets: 1)
        guard case .stale = try await fixture.deliver(claim, targets: 1) else { throw Unexpected(what: "settled") }
        #expect(try await fixture.ledger(id).targets == 1)
        guard case .none = try await fixture.store.deadLetters.retry(fixture.app, id) else {
            throw Unexpected(what: "retried")
        }
    }

    @Test func `questions find kept pushes beside others`() async throws {
        let fixture = try await PushFixture.start()
        let (store, app) = (fixture.store, fixture.app)
        let now = fixture.store.time.now()
        var ids: [PushID] = []
        for index in 0..<5 {
            let id = PushID.ordered(at: now, index: index)
            ids.append(try await done(fixture, hasOwn: index == 2, id: id, now: now))
        }
        ids.reverse()
        let filter = PushFilter()
        for limit in [1, 2, 10] {
            var (found, last) = ([Ledger](), PushID?.none)
            repeat {
                let page = try await store.pushes.history(app, of: name, filter, after: last, limit: limit)
                (found, last) = (found + page.pushes, page.next)
            } while last != nil
            #expect(found.map(\.id) == ids && found.allSatisfy { $0.delivered == 1 && $0.state == .done })
        }
        let page = try await store.pushes.history(app, filter, after: nil, limit: 10)
        #expect(page.pushes.map(\.id) == ids)
        let state = try #require(try await store.pushes.present(app, name).state)
        #expect(state.ledger.id == ids[0] && state.payload.starts(with: #"{"aps":{"timestamp":179"#.utf8))
        #expect(try await store.lateJoiners.states(app, name).kept.map(\.id) == [ids[0]])
    }

    @Test func `a late joiner gets its state, and it goes on as any other`() async throws {
        let fixture = try await PushFixture.start()
        let (store, app) = (fixture.store, fixture.app)
        let id = try await done(fixture)
        let channel = ChannelID.random()
        let asks = Registration(
            channel: channel, token: try #require(PushToken(bytes: [7])), registeredAt: Self.acceptedAt,
            wantsState: true)
        #expect(try await store.registry.track(app, .activity(name), [asks]) == [.stored])
        let states = try await store.lateJoiners.states(app, name)
        #expect(states.kept.map(\.id) == [id] && states.kept.first?.payload.isEmpty == false)
        let put = Mutex(0)
        try await store.lateJoiners.each(app, name) { joiners throws(StoreError) in
            let decisions = joiners.map { ($0, LateDecision.put(id)) }
            let settled = try await store.lateJoiners.settle(app, name, states, decisions)
            put.withLock { $0 += settled?.put ?? 0 }
        }
        #expect(put.withLock { $0 } == 1)
        #expect(try await !isKept(fixture, id))
        let life = try await store.redis.send(RedisCommand("PTTL", own(fixture, id))).integer()
        #expect(life > 6 * 86_400_000 && life <= Keyspace.defaultRetention.milliseconds)
        let waiting = try await fixture.ledger(id)
        #expect(waiting.state == .sending && waiting.targets == 2 && waiting.late == 1 && waiting.delivered == 1)
        let lease = try await fixture.claimRetries(Self.name)
        let due = try #require(try await fixture.due(lease).first)
        try await fixture.settle(lease) { $0.finish(due, as: .delivered) }
        let ledger = try await fixture.ledger(id)
        #expect(ledger.state == .done && ledger.targets == 2 && ledger.delivered == 2)
    }

    @Test func `an automatic end shows its state`() async throws {
        let fixture = try await PushFixture.start()
        let id = try await done(fixture)
        let end = Publish(name: name, event: .end, audience: .all, contentState: nil)
        _ = try await fixture.store.pushes.accept(
            fixture.app, end, id: .random(), payload: Array(#"{"aps":{"timestamp":0000000000}}"#.utf8),
            timestampOffset: 20, cutoff: Self.acceptedAt, now: Self.acceptedAt)
        let claim = try await fixture.claimed(Self.name)
        #expect(claim.record.isAutomatic)
        let content = try await fixture.store.pushes.content(fixture.app, id)
        #expect(claim.record.shown == content?.payload && claim.record.shown != nil)
    }

    @Test func `it lives from its end on as long as others, and its block as long as its last`() async throws {
        let retention = Duration.seconds(3 * 86_400)
        let fixture = try await PushFixture.start(retention: retention)
        func left(_ id: PushID) async throws -> Int64 {
            Int64(try await fixture.store.redis.send(RedisCommand("PTTL", block(fixture, id))).integer())
        }
        let first = try await done(fixture)
        #expect(try await (retention.milliseconds - 60_000...retention.milliseconds).contains(left(first)))
        try await fixture.store.redis.send(RedisCommand("PEXPIRE", block(fixture, first), "5000"))
        let second = try await done(fixture)
        #expect(block(fixture, first) == block(fixture, second))
        #expect(try await left(first) > retention.milliseconds - 60_000)
        // The next block begins at a multiple of six hours.
        let hours6: Int64 = 6 * 3_600_000
        let later = (Self.acceptedAt / hours6 + 1) * hours6
        let third = try await done(fixture, id: .ordered(at: later, index: 0), now: later)
        let before = try await done(fixture, id: .ordered(at: later - 1, index: 0), now: later)
        #expect(block(fixture, third) != block(fixture, second) && block(fixture, before) == block(fixture, second))
        try await fixture.store.redis.send(RedisCommand("PEXPIRE", block(fixture, first), "1"))
        try await eventually("the block has expired") {
            try await fixture.store.pushes.ledger(fixture.app, first) == nil
        }
        #expect(try await fixture.store.pushes.ledger(fixture.app, second) == nil)
        #expect(try await fixture.ledger(third).delivered == 1)
    }

    @Test func `the oldest are forgotten by their number`() async throws {
        let fixture = try await PushFixture.start()
        let hour: Int64 = 3_600_000
        let now = fixture.store.time.now()
        var ids: [PushID] = []
        for index in 0..<6 {
            let id = PushID.ordered(at: now - 30 * hour, index: index)
            ids.append(try await done(fixture, hasOwn: index == 3, id: id, now: now - 30 * hour))
            let receipt = Receipt(push: id, event: .shown, channel: .random())
            _ = try await fixture.store.receipts.count(fixture.app, [receipt], now: now - 29 * hour)
        }
        // Cards may still need the newest state.
        var (old, removed) = (OldPushes(), 0)
        while let step = try await fixture.store.pushes.forgetOldest(fixture.app, most: 1, limit: 4, &old) {
            removed += step
        }
        #expect(removed == 5)
        for id in ids.dropLast() {
            #expect(try await fixture.store.pushes.ledger(fixture.app, id) == nil)
            #expect(try await kept(fixture, id) == nil)
        }
        #expect(try await fixture.ledger(ids[5]).receipts == [.shown: 1])
    }

    @Test func `a block of many is compact, and survives the death of Redis`() async throws {
        let server = try await RedisServer.start(append: true)
        let redis = RedisClient(url: server.url, scripts: Store.scripts, logger: .quiet)
        let fixture = PushFixture(server: server, store: Store(redis: redis, clock: { Self.acceptedAt + 2_000 }))
        try await fixture.store.claimFormat()
        var ids: [PushID] = []
        for index in 0..<200 {
            ids.append(try await done(fixture, id: .ordered(at: Self.acceptedAt, index: index)))
        }
        let encoding = try await fixture.store.redis.send(
            RedisCommand("OBJECT", ["ENCODING", .key(block(fixture, ids[0]))]))
        #expect(try ["listpack", "ziplist"].contains(encoding.string()))
        let count = try await fixture.store.redis.send(RedisCommand("HLEN", block(fixture, ids[0]))).integer()
        #expect(count == 200)
        try await server.restart()
        try await eventually("Redis is back", errorsPass: true) {
            _ = try await fixture.store.pushes.ledger(fixture.app, ids[0])
            return true
        }
        let filter = PushFilter()
        let page = try await fixture.store.pushes.history(fixture.app, of: name, filter, after: nil, limit: 300)
        #expect(page.pushes.map(\.id) == ids.reversed() && page.pushes.allSatisfy { $0.delivered == 1 })
    }

    @Test func `a record that nobody can read is no push, and holds up no other`() async throws {
        let fixture = try await PushFixture.start()
        let (store, app) = (fixture.store, fixture.app)
        let first = try await done(fixture)
        let values: [[UInt8]] = [
            [], [1, 2, 3], [0x7F] + Array(repeating: 0, count: 40), [0x10, 0] + Array(repeating: 9, count: 20),
        ]
        for value in values {
            let id = try await done(fixture)
            try await store.redis.send(RedisCommand("HSET", block(fixture, id), .bytes(id.uuid.bytes), .bytes(value)))
            #expect(try await store.pushes.ledger(app, id) == nil)
            let receipts = [Receipt(push: id, event: .shown, channel: .random())]
            _ = try await store.receipts.count(app, receipts, now: Self.acceptedAt)
            _ = try await store.pushes.history(app, of: name, PushFilter(), after: nil, limit: 10)
            _ = try await store.pushes.cancel(app, id)
            #expect(try await store.lateJoiners.states(app, name).kept.isEmpty)
        }
        #expect(try await fixture.ledger(first).delivered == 1)
        _ = try await done(fixture)
    }

    /// A failover may bring back a name without its last push.
    @Test func `a replica proves the block that has it`() async throws {
        let server = try await RedisServer.start()
        let redis = RedisClient(url: server.url, scripts: Store.scripts, logger: .quiet)
        let store = Store(redis: redis, replicas: ReplicaPolicy(replicas: 1, timeout: .milliseconds(20)))
        let wait = try #require(store.pushes.replicas)
        let (name, block, id) = (RedisKey("name"), RedisKey("block"), PushID.random())
        try await redis.send(RedisCommand("HSET", name, "seq", "1"))
        try await redis.send(RedisCommand("HSET", block, .bytes(id.uuid.bytes), "record"))
        let lost = StoreError.redis(.lost("another server answers, without the push"))
        for (push, error) in [(id, StoreError.unreplicated(replicas: 0, of: 1)), (.random(), lost)] {
            await #expect(throws: error) {
                try await wait.confirm(push: RedisKey("none"), life: 60_000, small: (push, name, 60_000, block))
            }
        }
        await redis.close()
    }
}
