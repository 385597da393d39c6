import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store

/// Which pushes there were: of an app and of a name, newest first.
@Suite struct HistoryTests {
    private let hour: Int64 = 3_600_000

    @Test func `pushes of an app come newest first, over many hours and page by page`() async throws {
        let fixture = try await PushFixture.start()
        let now = fixture.store.time.now()
        var ids: [PushID] = []
        // Some hours with several pushes, some with none.
        for age in [0, 0, 1, 3, 3, 3, 40, 160].map(Int64.init) {
            let time = now - age * hour
            let id = PushID.ordered(at: time, index: 100 - ids.count)
            try await accept(fixture, id, name: "match-\(ids.count)", at: time)
            ids.append(id)
        }
        for limit in [1, 2, 3, 100] {
            var (found, position) = ([PushID](), HistoryPosition?.none)
            repeat {
                let page = try await fixture.store.pushes.history(
                    fixture.app, PushFilter(), after: position, limit: limit)
                #expect(page.pushes.count <= limit)
                found += page.pushes.map(\.id)
                position = page.next
            } while position != nil
            #expect(found == ids, "limit \(limit)")
        }
        #expect(try await fixture.store.pushes.kept(fixture.app) == ids.count)
        #expect(
            try await fixture.store.pushes.history(AppKey("other"), PushFilter(), after: nil, limit: 9).pushes == [])
    }

    /// A key holds for a day. Publishers repeat a call after an outage, or read a topic again from its beginning.
    @Test(arguments: [false, true])
    func `a publish that is repeated an hour later is one push`(isSettled: Bool) async throws {
        let fixture = try await PushFixture.start()
        let accepted = fixture.store.time.now() - 62 * 60_000
        let id = PushID.ordered(at: accepted, index: 0)
        _ = try await fixture.publish("match-1", id: id, isRepeatable: true, now: accepted)
        if isSettled { _ = try await fixture.deliver(try await fixture.claimed("match-1"), targets: 2) }
        for _ in 0..<2 {
            _ = try await fixture.publish("match-1", id: id, isRepeatable: true, now: accepted + 62 * 60_000)
        }
        let pushes = fixture.store.pushes
        let page = try await pushes.history(fixture.app, PushFilter(), after: nil, limit: 9)
        #expect(page.pushes.map(\.id) == [id] && page.next == nil)
        #expect(try await pushes.kept(fixture.app) == 1)
        // A gateway that dies behind the commit leaves its note in the hour of the repetition.
        let note = pushes.index.note(fixture.app, id, try ActivityName("match-1"), now: accepted + 62 * 60_000)
        _ = try await fixture.store.redis.run(note)
        let again = try await pushes.history(fixture.app, PushFilter(), after: nil, limit: 9)
        #expect(again.pushes.map(\.id) == [id])
    }

    @Test func `pushes of some names are found among many others, and no place tells an id of these`() async throws {
        let fixture = try await PushFixture.start()
        let now = fixture.store.time.now()
        var (own, others) = ([PushID](), [PushID]())
        for number in 0..<40 {
            let age = Int64(number / 10) * hour
            let id = PushID.ordered(at: now - age - Int64(number), index: 0)
            let isOwn = number % 9 == 4
            try await accept(fixture, id, name: "\(isOwn ? "match" : "order")-\(number)", at: now - age)
            if isOwn { own.append(id) } else { others.append(id) }
        }
        var filter = PushFilter()
        filter.namePrefix = "match-"
        for (limit, passed, step) in [(1, 3, 2), (2, 5, 4), (3, 2, 1), (100, 1_000, 1_000)] {
            let pushes = fixture.store.pushes
            var pass = NamePass()
            (pass.most, pass.atOnce) = (passed, step)
            var (found, position, calls) = ([PushID](), HistoryPosition?.none, 0)
            repeat {
                let page = try await pushes.history(fixture.app, filter, after: position, limit: limit, pass: pass)
                #expect(page.pushes.count <= limit)
                found += page.pushes.map(\.id)
                position = page.next
                #expect(!others.contains { position?.description.contains($0.description) == true })
                calls += 1
            } while position != nil && calls < 100
            #expect(found == own, "limit \(limit), passed \(passed)")
        }
    }

    @Test func `a filter picks states, events and times`() async throws {
        let fixture = try await PushFixture.start()
        let now = fixture.store.time.now()
        let update = PushID.ordered(at: now - 2 * hour, index: 0)
        try await accept(fixture, update, name: "a", at: now - 2 * hour)
        let end = PushID.ordered(at: now, index: 0)
        try await accept(fixture, end, name: "b", event: .end, at: now)
        _ = try await fixture.store.pushes.cancel(fixture.app, update)
        func found(_ change: (inout PushFilter) -> Void) async throws -> [PushID] {
            var filter = PushFilter()
            change(&filter)
            return try await fixture.store.pushes.history(fixture.app, filter, after: nil, limit: 10).pushes.map(\.id)
        }
        #expect(try await found { _ in } == [end, update])
        #expect(try await found { $0.states = [.cancelled] } == [update])
        #expect(try await found { $0.states = [.queued, .cancelled] } == [end, update])
        #expect(try await found { $0.events = [.end] } == [end])
        #expect(try await found { $0.from = now - hour } == [end])
        #expect(try await found { $0.to = now - hour } == [update])
        #expect(try await found { $0.from = now + 1 } == [])
    }

    @Test func `a push whose id is old is shown once, when it was accepted`() async throws {
        let fixture = try await PushFixture.start()
        let now = fixture.store.time.now()
        let scheduled = PushID.ordered(at: now - 30 * hour, index: 0)
        let other = PushID.ordered(at: now - 10 * hour, index: 0)
        try await accept(fixture, other, name: "a", at: now - 10 * hour)
        try await accept(fixture, scheduled, name: "b", at: now)
        let page = try await fixture.store.pushes.history(fixture.app, PushFilter(), after: nil, limit: 10)
        #expect(page.pushes.map(\.id) == [scheduled, other])
        #expect(try await fixture.store.pushes.ledger(fixture.app, scheduled)?.name.rawValue == "b")
    }

    @Test func `a refused push is not listed, and neither is one that was never committed`() async throws {
        let fixture = try await PushFixture.start()
        let now = fixture.store.time.now()
        let first = PushID.ordered(at: now, index: 0)
        try await accept(fixture, first, name: "a", event: .end, at: now)
        let refused = PushID.ordered(at: now, index: 1)
        let acceptance = try await fixture.publish("a", id: refused, now: now)
        #expect(acceptance == .refused(.nameClosed))
        let index = fixture.store.pushes.index
        let lost = PushID.ordered(at: now, index: 2)
        try await fixture.store.redis.run(index.note(fixture.app, lost, try ActivityName("c"), now: now))
        let page = try await fixture.store.pushes.history(fixture.app, PushFilter(), after: nil, limit: 10)
        #expect(page.pushes.map(\.id) == [first])
        #expect(try await index.name(of: refused, fixture.app) == nil)
    }

    @Test func `a name's pushes form a chain, in the order of their acceptance`() async throws {
        let fixture = try await PushFixture.start()
        let now = fixture.store.time.now()
        var ids: [PushID] = []
        for number in 0..<7 {
            let id = PushID.random()
            _ = try await fixture.publish("match-1", id: id, now: now - 10_000 + Int64(number))
            _ = try await fixture.publish("match-2", now: now - 10_000 + Int64(number))
            ids.insert(id, at: 0)
        }
        let (pushes, app, name) = (fixture.store.pushes, fixture.app, try ActivityName("match-1"))
        for limit in [1, 3, 7, 100] {
            var (found, last) = ([PushID](), PushID?.none)
            repeat {
                let page = try await pushes.history(app, of: name, PushFilter(), after: last, limit: limit)
                found += page.pushes.map(\.id)
                last = page.next
            } while last != nil
            #expect(found == ids, "limit \(limit)")
        }
        var filter = PushFilter()
        filter.states = [.superseded]
        let superseded = try await pushes.history(app, of: name, filter, after: nil, limit: 100).pushes
        #expect(superseded.map(\.id) == Array(ids.dropFirst()), "all but the newest were superseded")
        // A record that is gone ends the chain.
        let tag = fixture.store.keys.tag(app, name)
        try await fixture.store.redis.send(RedisCommand("DEL", fixture.store.keys.push(tag, ids[3])))
        let rest = try await pushes.history(app, of: name, PushFilter(), after: nil, limit: 100).pushes
        #expect(rest.map(\.id) == Array(ids.prefix(3)))
    }

    @Test func `the content of a push is its audience and its payload`() async throws {
        let fixture = try await PushFixture.start()
        let id = try await fixture.accepted("match-1", audience: .tag("vip", group: "device"))
        let content = try #require(try await fixture.store.pushes.content(fixture.app, id))
        #expect(content.audience == .tag("vip", group: "device") && !content.payload.isEmpty)
        #expect(try await fixture.store.pushes.content(try AppKey("other"), id) == nil)
    }

    @Test func `a push tells which channels it pruned and gave up, at most a thousand of the pruned ones`() async throws
    {
        let fixture = try await PushFixture.start()
        let (store, app, name) = (fixture.store, fixture.app, try ActivityName("match-1"))
        let push = try await fixture.accepted("match-1")
        let claim = try await fixture.claimed("match-1", push)
        func channel(_ number: Int) -> [UInt8] { ChannelID.numbered(number).stored }
        var settlement = Settlement(range: claim.lease.bounds)
        settlement.targets = 1_201
        settlement.giveUp(channel(0), reason: "Shutdown")
        for number in 1...1_200 {
            settlement.remove(
                TokenRemoval(channel: channel(number), token: [7], deadSince: nil, reason: "BadDeviceToken"))
        }
        _ = try await fixture.settle(claim, settlement)
        #expect(try await store.deadLetters.channels(app, of: push)?.map(\.reason) == ["Shutdown"])
        let pending = try await fixture.pendingRemovals("match-1")
        _ = try await store.sweeps.confirm(app, name, pending.map { (pending: $0, as: .pruned) })
        let kept = try #require(try await store.deadLetters.channels(app, of: push))
        #expect(kept.count { $0.outcome == .failed } == 1)
        #expect(kept.count { $0.outcome == .pruned && $0.reason == "BadDeviceToken" } == 1_000)
        #expect(try await store.pushes.ledger(app, push)?.pruned == 1_200)
        let life = try await store.redis.send(RedisCommand("PTTL", store.keys.pruned(store.keys.tag(app, name), push)))
        #expect(try (1...Int(store.keys.retention)).contains(life.integer()))
        #expect(try await store.deadLetters.channels(app, of: .random()) == nil)
    }

    @Test func `a set of the index is prolonged twice an hour, not with each push`() async throws {
        let fixture = try await PushFixture.start()
        let now = fixture.store.time.now()
        let (index, name) = (fixture.store.pushes.index, try ActivityName("a"))
        let id = PushID.ordered(at: now, index: 0)
        func commands(at time: Int64) -> Int { index.note(fixture.app, id, name, now: time).count }
        #expect([0, 1, 1_799_999].map { commands(at: now + $0) } == [2, 1, 1])
        #expect(commands(at: now + 1_800_000) == 2)
        #expect(commands(at: now - 10) == 2, "the clock was set back")
    }

    @Test func `on a cluster the slices of an hour are merged`() async throws {
        let cluster = try await ClusterServers.start()
        let redis = RedisClient(url: cluster.url, scripts: Store.scripts, logger: .quiet)
        let store = Store(redis: redis)
        let app = try AppKey("shop")
        var ids: [PushID] = []
        let start = store.time.now()
        for number in 0..<60 {
            let id = PushID.ordered(at: start, index: number)
            try await redis.run(store.pushes.index.note(app, id, try ActivityName("a"), now: start))
            ids.insert(id, at: 0)
        }
        #expect(Set(ids.map { store.pushes.index.key(app, $0) }).count > 4)
        for limit in [1, 5, 60, 100] {
            var (found, before) = ([PushID](), PushID?.none)
            while true {
                let part = try await store.pushes.index.pushes(
                    app, hours: [start / hour], before: before, limit: limit)[0]
                found += part.pushes.map(\.id)
                before = part.pushes.last?.id
                if part.isWhole { break }
            }
            #expect(found == ids, "limit \(limit)")
        }
        await redis.close()
        cluster.stop()
    }

    private func accept(
        _ fixture: PushFixture, _ id: PushID, name: String, event: ActivityEvent = .update, at time: Int64
    ) async throws {
        let acceptance = try await fixture.publish(name, event: event, id: id, now: time)
        guard case .accepted = acceptance else { throw Unexpected(what: "\(acceptance)") }
    }
}
