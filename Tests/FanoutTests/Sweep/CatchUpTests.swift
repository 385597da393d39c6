import APNsWire
import Delivery
import LiveActivity
import Synchronization
import TestSupport
import Testing

@testable import Fanout
@testable import Store

/// Tests registrations during a sweep. A channel that begins to follow or gets another token has the state
/// when the push is over.
@Suite struct CatchUpTests {
    @Test func `a channel that registers during a sweep gets the push once`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.track(0..<5_000)
        let transport = ScriptedTransport()
        transport.hold()
        let ledger = try await fixture.withWorker(transport) {
            let id = try await fixture.publish(alert: false)
            await transport.holding(pages: 4)
            // New channels come, ahead of the sweep and behind it. Others get another token, with pages in flight or
            // not read yet. One channel leaves.
            try await fixture.track(10_000..<10_300)
            for number in 0..<50 { try await fixture.track(channels[number], 20_000 + number) }
            let removed = ChannelID.random()
            try await fixture.track(removed, 30_000)
            try await fixture.untrack(removed)
            transport.letGo()
            return try await fixture.finished(id)
        }
        let counts = transport.counts.mapKeys(WorkerFixture.number)
        #expect(counts.values.allSatisfy { $0 == 1 })
        for number in 10_000..<10_300 { #expect(counts[number] == 1) }
        for number in 20_000..<20_050 { #expect(counts[number] == 1) }
        for number in 50..<5_000 { #expect(counts[number] == 1) }
        #expect(counts[30_000] == nil)
        #expect(ledger.delivered == counts.count && ledger.targets == counts.count && ledger.pending == 0)
    }

    @Test func `a long tail is caught up with before the next push`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<10)
        let transport = ScriptedTransport()
        transport.hold()
        let ledgers = try await fixture.withWorker(transport) {
            let first = try await fixture.publish(label: "first")
            await transport.holding(pages: 1)
            let second = try await fixture.publish(label: "second")
            try await fixture.track(100..<2_600)
            transport.letGo()
            return [try await fixture.finished(first), try await fixture.finished(second)]
        }
        #expect(ledgers.allSatisfy { $0.delivered == 2_510 && $0.targets == 2_510 })
        for number in [0, 9, 100, 1_234, 2_599] { #expect(transport.taken(number) == ["first", "second"]) }
    }

    @Test func `only those in the audience are caught up with`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<10)
        let newcomers = [ChannelID.random(), .random()]
        var change = TagChange()
        change.add = ["device": ["vip"]]
        // A token in flight keeps the sweep open.
        let holder = try await fixture.track(50..<51)
        try await fixture.store.channels.tag(fixture.app, [newcomers[0]] + holder, change)
        let transport = ScriptedTransport()
        let ledger = try await fixture.withWorker(transport) {
            transport.hold()
            let id = try await fixture.publish(.tag("vip", group: "device"))
            await transport.holding(pages: 1)
            try await fixture.track(newcomers[0], 100)
            try await fixture.track(newcomers[1], 101)
            transport.letGo()
            return try await fixture.finished(id)
        }
        #expect(ledger.targets == 2)
        #expect(Set(transport.counts.keys.map(WorkerFixture.number)) == [50, 100])
    }

    @Test func `the catch-up does not pass a channel that waits for an older push`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.track(0..<3)
        let isBusy = Atomic(true)
        let transport = ScriptedTransport(byLabel: { token, label, _ in
            label == "alert" && WorkerFixture.number(token) % 100 == 0 && isBusy.load(ordering: .relaxed)
                ? WaitingTests.busy(retryAfter: 600) : .accepted
        })
        try await fixture.withWorker(transport) {
            let alert = try await fixture.publish(label: "alert")
            try await fixture.swept(alert)
            transport.hold()
            let update = try await fixture.publish(alert: false, label: "update")
            await transport.holding(pages: 1)
            try await fixture.track(channels[0], 100)
            transport.letGo()
            try await fixture.swept(update)
            isBusy.store(false, ordering: .relaxed)
            try await fixture.retryNow()
            for id in [alert, update] {
                let ledger = try await fixture.finished(id)
                #expect(ledger.delivered == 3 && ledger.pending == 0)
            }
        }
        #expect(transport.taken(100) == ["alert", "update"] && transport.taken(0) == [])
    }

    /// Its old token is tried again with the new one, which must not have got the push meanwhile.
    @Test func `a channel that gets another token while it is caught up with gets the push once`() async throws {
        let fixture = try await WorkerFixture.start()
        let channel = ChannelID.random()
        let id = try await caughtUp(fixture) {
            try await fixture.track(channel, 100)
            try await fixture.track(101..<120)
        }
        let transport = ScriptedTransport(byLabel: { token, _, _ in
            WorkerFixture.number(token) == 100 ? WaitingTests.busy(retryAfter: 600) : .accepted
        })
        transport.hold()
        let ledger = try await fixture.withWorker(transport, pageSize: 1) {
            await transport.holding(pages: 4)
            try await fixture.track(channel, 200)
            try await fixture.track(300..<301)
            transport.letGo { WorkerFixture.number($0) == 100 }
            // With the last token the worker has read all that registered before it.
            try await eventually("the last token") { !transport.taken(300).isEmpty }
            transport.letGo()
            try await fixture.swept(id)
            try await fixture.retryNow()
            return try await fixture.finished(id)
        }
        #expect(transport.taken.filter { $0.value.count > 1 }.isEmpty)
        #expect(transport.taken(100) == [] && transport.taken[200]?.count == 1)
        #expect(ledger.delivered == 26 && ledger.targets == 26)
    }

    @Test func `an arrival that registered again since it was read is left to the next round`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = (0..<3).map { _ in ChannelID.random() }
        _ = try await caughtUp(fixture) {
            for (number, channel) in channels.enumerated() { try await fixture.track(channel, 100 + number) }
        }
        func arrivals() async throws -> [CatchUpArrival] {
            try await fixture.store.sweeps.arrivals(fixture.app, fixture.name, after: 0, limit: 10)
        }
        let read = try await arrivals()
        try await fixture.track(channels[1], 201)
        let first = try await fixture.store.tokens.lookup(fixture.app, fixture.name, read)
        #expect(first.arrivals.map(\.channel) == [channels[0].stored, channels[2].stored])
        let tokens = (0..<first.page.count).map { WorkerFixture.number(Array(first.page.token($0))) }
        #expect(tokens == [100, 102])
        let second = try await fixture.store.tokens.lookup(fixture.app, fixture.name, try await arrivals())
        #expect(second.arrivals.map(\.channel) == [channels[0].stored, channels[2].stored, channels[1].stored])
        #expect(WorkerFixture.number(Array(second.page.token(2))) == 201)
    }

    @Test func `channels that register two tokens during a sweep get the push once at each`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<1)
        let transport = ScriptedTransport(pause: .milliseconds(1)) { _, _, _ in .accepted }
        transport.hold { $0 == [0, 0, 0, 0] }
        let ledger = try await fixture.withWorker(transport, pageSize: 8) {
            let id = try await fixture.publish()
            await transport.holding(pages: 1)
            try await withThrowingTaskGroup { group in
                for task in 0..<8 {
                    group.addTask {
                        for number in 0..<250 {
                            let channel = ChannelID.random()
                            try await fixture.track(channel, 100_000 + task * 1_000 + number)
                            try await fixture.track(channel, 200_000 + task * 1_000 + number)
                            // The catch-up begins, and goes on while channels arrive: a page of it is held.
                            if number == 10 { transport.letGo { WorkerFixture.number($0) == 200_011 } }
                        }
                    }
                }
                try await group.waitForAll()
            }
            transport.letGo()
            return try await fixture.finished(id)
        }
        let taken = transport.taken
        #expect(taken.filter { $0.value.count > 1 }.isEmpty)
        #expect(taken.keys.count { $0 >= 200_000 } == 2_000)
        #expect(ledger.delivered == taken.count && ledger.pending == 0)
    }

    @Test func `a catch up whose worker died is finished by another`() async throws {
        let fixture = try await WorkerFixture.start()
        let id = try await caughtUp(fixture) { try await fixture.track(100..<110) }
        let tail = WorkItem(app: fixture.app, name: fixture.name, push: id, priority: .high, part: .catchUp)
        guard
            case .claimed = try await fixture.store.sweeps.claim(tail, owner: "dead", lease: .zero)
        else { throw WorkerFixtureError(description: "not claimed") }
        // The entry of the publish is still in the stream, as if no worker had read it.
        let transport = ScriptedTransport()
        let ledger = try await fixture.withWorker(transport) { try await fixture.finished(id) }
        #expect(ledger.delivered == 15 && ledger.targets == 15 && transport.total == 10)
    }

    @Test(.timeLimit(.minutes(5))) func `a storm of registrations delays no push`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<2_000)
        let transport = ScriptedTransport()
        let isOver = Drain()
        let last = try await fixture.withWorker(transport) {
            async let tracked: Int = {
                var next = 10_000
                while !isOver.isOn, next < 60_000 {
                    try await fixture.track(next..<next + 100)
                    next += 100
                }
                return next
            }()
            for number in 0..<15 {
                let id = try await fixture.publish(alert: number % 2 == 0, label: "\(number)")
                let ledger = try await fixture.finished(id)
                #expect(ledger.pending == 0 && ledger.state == .done)
            }
            isOver.begin()
            let end = try await tracked
            _ = try await fixture.finished(try await fixture.publish(label: "last"))
            return end
        }
        let all = transport.taken
        for number in Array(0..<2_000) + Array(10_000..<last) {
            let taken = all[number] ?? []
            guard taken.last == "last", Set(taken).count == taken.count else {
                Issue.record("\(number) took \(taken)")
                return
            }
        }
    }

    /// A push to five tokens whose sweep is done, but for those that register in `body`.
    private func caughtUp(_ fixture: WorkerFixture, _ body: () async throws -> Void) async throws -> PushID {
        try await fixture.track(0..<5)
        let id = try await fixture.publish()
        let claim = try await fixture.claimed(id)
        try await body()
        var page = Settlement(range: claim.lease.bounds)
        page.targets = 5
        page.count(.delivered, 5)
        guard
            case .ok(.sending, true, let leftovers) = try await fixture.store.sweeps.settle(
                claim.lease, for: .seconds(1), page)
        else { throw WorkerFixtureError(description: "not settled") }
        #expect(leftovers.catchUpWaits)
        return id
    }
}
