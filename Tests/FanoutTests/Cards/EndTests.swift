import APNsWire
import Delivery
import LiveActivity
import Redis
import Store
import Synchronization
import TestSupport
import Testing

@testable import Fanout

/// Tests that nothing follows an `end`. A channel whose `end` was delivered is untracked before anything later is sent.
@Suite struct EndTests {
    @Test func `whose end was delivered is untracked`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.track(0..<3)
        let transport = ScriptedTransport()
        let (end, update) = try await fixture.withWorker(transport) {
            let end = try await fixture.finished(
                try await fixture.publish(.channel(channels[1]), event: .end, label: "end"))
            return (end, try await fixture.finished(try await fixture.publish(label: "update")))
        }
        #expect(end.state == .done && end.delivered == 1 && end.targets == 1)
        #expect(update.targets == 2 && update.delivered == 2)
        #expect(transport.taken(1) == ["end"])
        #expect(try await fixture.store.names.info(fixture.app, fixture.name)?.tokens == 2)
        // The same token may be registered again, late or anew. A later registration is for another activity.
        let late = Registration(
            channel: channels[1], token: try #require(WorkerFixture.token(1)), registeredAt: nowMilliseconds() - 30_000)
        #expect(try await fixture.store.registry.track(fixture.app, .activity(fixture.name), [late]) == [.stale])
        try await fixture.track(channels[1], 101)
    }

    @Test(arguments: [1, 2])
    func `a token whose end was delivered after the push was cancelled is untracked`(attempt: Int) async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.track(0..<3)
        let transport = ScriptedTransport(byLabel: { _, label, number in
            label == "end" && number < attempt ? WaitingTests.busy(retryAfter: 600) : .accepted
        })
        let end = try await fixture.withWorker(transport) {
            if attempt == 1 { transport.hold() }
            let end = try await fixture.publish(.channel(channels[1]), event: .end, label: "end")
            if attempt == 2 {
                try await fixture.swept(end)
                transport.hold()
                try await fixture.retryNow()
            }
            await transport.holding(pages: 1)
            _ = try await fixture.store.pushes.cancel(fixture.app, end)
            transport.letGo()
            try await eventually("its token is removed") {
                try await fixture.store.names.info(fixture.app, fixture.name)?.tokens == 2
            }
            _ = try await fixture.finished(try await fixture.publish(label: "update"))
            return try await fixture.finished(end)
        }
        #expect(transport.taken == [0: ["update"], 1: ["end"], 2: ["update"]])
        #expect(end.state == .cancelled && end.delivered == 1 && end.skipped == 0 && end.pending == 0, "\(end)")
    }

    /// The worker is alive, but another one has the lease by the time that its page returns.
    @Test func `the 200 of an end removes its token although the page cannot be settled`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.track(0..<3)
        let transport = ScriptedTransport()
        let end = try await fixture.withWorker(transport) {
            transport.hold()
            let end = try await fixture.publish(.channel(channels[1]), event: .end, label: "end")
            await transport.holding(pages: 1)
            let other = try await fixture.robbed(end)
            _ = try await fixture.store.pushes.cancel(fixture.app, end)
            transport.letGo()
            try await fixture.isRemoved()
            try await fixture.store.sweeps.giveBack(other.lease)
            _ = try await fixture.finished(try await fixture.publish(label: "update"))
            return try await fixture.finished(end)
        }
        #expect(transport.taken == [0: ["update"], 1: ["end"], 2: ["update"]])
        #expect(end.state == .cancelled && end.pending == 0, "\(end)")
    }

    /// - Parameter isDropped: the next holder of the lease has ended the channel's wait, because the end is cancelled
    @Test(arguments: [false, true])
    func `the 200 of an ends retry removes its token although the lease was lost`(isDropped: Bool) async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.track(0..<3)
        let transport = ScriptedTransport(byLabel: { _, label, attempt in
            label == "end" && attempt == 1 ? WaitingTests.busy(retryAfter: 600) : .accepted
        })
        let end = try await fixture.withWorker(transport) {
            let end = try await fixture.publish(.channel(channels[1]), event: .end, label: "end")
            try await fixture.swept(end)
            transport.hold()
            try await fixture.retryNow()
            await transport.holding(pages: 1)
            let other = try await fixture.robbedOfRetries()
            _ = try await fixture.store.pushes.cancel(fixture.app, end)
            if isDropped { try await fixture.dropAll(other) }
            transport.letGo()
            try await fixture.isRemoved()
            try await fixture.store.sweeps.giveBack(other)
            _ = try await fixture.finished(try await fixture.publish(label: "update"))
            return try await fixture.finished(end)
        }
        #expect(transport.taken == [0: ["update"], 1: ["end"], 2: ["update"]])
        #expect(end.state == .cancelled && end.pending == 0, "\(end)")
        if !isDropped { #expect(end.delivered == 1 && end.skipped == 0, "\(end)") }
        let noted = RedisCommand("HLEN", fixture.key(Keyspace.pendingRemovals))
        #expect(try await fixture.store.redis.send(noted).integer() == 0)
    }

    /// No worker runs yet, or the name is paused.
    @Test(arguments: [false, true])
    func `a card that began after an end gets nothing from before it`(isCancelled: Bool) async throws {
        let fixture = try await WorkerFixture.start()
        let phones = [ChannelID.random(), ChannelID.random(), ChannelID.random()]
        for number in 0..<2 { try await fixture.follow(phones[number], number, card: "first") }
        let ids = [
            try await fixture.publish(label: "alert 1"), try await fixture.publish(label: "alert 2"),
            try await fixture.publish(event: .end, label: "end"),
        ]
        try await fixture.isLater(than: nowMilliseconds() + 1)
        try await fixture.follow(phones[1], 101, card: "second")
        try await fixture.follow(phones[2], 102, card: "second")
        if isCancelled { _ = try await fixture.store.pushes.cancel(fixture.app, ids[2]) }
        let transport = ScriptedTransport()
        try await fixture.withWorker(transport) {
            for id in ids { _ = try await fixture.finished(id) }
            _ = try await fixture.finished(try await fixture.publish(label: "update"))
        }
        // An end that reached nobody closes nothing.
        let before = isCancelled ? ["alert 1", "alert 2"] : []
        #expect(transport.taken(0) == ["alert 1", "alert 2"] + (isCancelled ? ["update"] : ["end"]))
        #expect(transport.taken(101) == before + ["update"] && transport.taken(102) == before + ["update"])
    }

    @Test func `nor from a sweep that is under way, nor from a retry`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.track(0..<2)
        let isBusy = Atomic(true)
        let transport = ScriptedTransport(byLabel: { token, label, _ in
            WorkerFixture.number(token) == 1 && label == "alert 1" && isBusy.load(ordering: .relaxed)
                ? WaitingTests.busy(retryAfter: 600) : .accepted
        })
        let ledgers = try await fixture.withWorker(transport) {
            transport.hold()
            let ids = [
                try await fixture.publish(label: "alert 1"), try await fixture.publish(event: .end, label: "end"),
            ]
            await transport.holding(pages: 1)
            try await fixture.isLater(than: nowMilliseconds() + 1)
            try await fixture.track(.random(), 100)
            transport.letGo()
            for id in ids { try await fixture.swept(id) }
            // The other card begins while both pushes wait for its channel.
            try await fixture.untrack(channels[1])
            try await fixture.track(channels[1], 101)
            isBusy.store(false, ordering: .relaxed)
            try await fixture.retryNow()
            var ledgers: [Ledger] = []
            for id in ids { ledgers.append(try await fixture.finished(id)) }
            _ = try await fixture.finished(try await fixture.publish(label: "update"))
            return ledgers
        }
        #expect(transport.taken == [0: ["alert 1", "end"], 100: ["update"], 101: ["update"]])
        #expect(ledgers.map(\.targets) == [2, 2] && ledgers.map(\.skipped) == [1, 1], "\(ledgers)")
    }

    /// An end for an audience closes no name, but the cards of its channels.
    @Test(arguments: [false, true])
    func `a card gets nothing from before an end for its audience`(isCancelled: Bool) async throws {
        let fixture = try await WorkerFixture.start()
        let phones = [ChannelID.random(), ChannelID.random(), ChannelID.random()]
        var vip = TagChange()
        vip.add = ["device": ["vip"]]
        try await fixture.store.channels.tag(fixture.app, Array(phones[0..<2]), vip)
        for number in 0..<2 { try await fixture.follow(phones[number], number, card: "first") }
        let ids = [
            try await fixture.publish(label: "alert"),
            try await fixture.publish(.tag("vip", group: "device"), event: .end, label: "end"),
        ]
        try await fixture.isLater(than: nowMilliseconds() + 1)
        try await fixture.follow(phones[1], 101, card: "second")
        try await fixture.follow(phones[2], 102, card: "second")
        if isCancelled { _ = try await fixture.store.pushes.cancel(fixture.app, ids[1]) }
        let transport = ScriptedTransport()
        try await fixture.withWorker(transport) {
            for id in ids { _ = try await fixture.finished(id) }
            _ = try await fixture.finished(try await fixture.publish(label: "update"))
        }
        #expect(transport.taken(0) == ["alert", isCancelled ? "update" : "end"])
        #expect(transport.taken(101) == (isCancelled ? ["alert"] : []) + ["update"], "its card before was ended")
        #expect(transport.taken(102) == ["alert", "update"], "the end was for others")
    }

    @Test func `nor a retry from before an end for its audience`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.track(0..<2)
        let isBusy = Atomic(true)
        let transport = ScriptedTransport(byLabel: { _, label, _ in
            label == "alert" && isBusy.load(ordering: .relaxed) ? WaitingTests.busy(retryAfter: 600) : .accepted
        })
        let ledgers = try await fixture.withWorker(transport) {
            let ids = [
                try await fixture.publish(label: "alert"),
                try await fixture.publish(.channel(channels[1]), event: .end, label: "end"),
            ]
            for id in ids { try await fixture.swept(id) }
            try await fixture.isLater(than: nowMilliseconds() + 1)
            for number in 0..<2 {
                try await fixture.untrack(channels[number])
                try await fixture.track(channels[number], 100 + number)
            }
            isBusy.store(false, ordering: .relaxed)
            try await fixture.retryNow()
            var ledgers: [Ledger] = []
            for id in ids { ledgers.append(try await fixture.finished(id)) }
            return ledgers
        }
        #expect(transport.taken == [100: ["alert"]])
        #expect(ledgers.map(\.skipped) == [1, 1] && ledgers[0].delivered == 1, "\(ledgers)")
    }

    @Test func `an end does not end a card that began after it`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.track(0..<3)
        let isBusy = Atomic(true)
        let transport = ScriptedTransport(byLabel: { token, label, _ in
            WorkerFixture.number(token) == 2 && label == "end" && isBusy.load(ordering: .relaxed)
                ? WaitingTests.busy(retryAfter: 600) : .accepted
        })
        // No worker runs yet, so the sweep comes after the registrations below.
        let end = try await fixture.publish(event: .end, label: "end")
        let accepted = nowMilliseconds()
        try await fixture.isLater(than: accepted + 1)
        try await fixture.track(channels[1], 101)
        let newcomer = ChannelID.random()
        try await fixture.track(newcomer, 200)
        let ledgers = try await fixture.withWorker(transport) {
            try await fixture.swept(end)
            // Its end waits for another attempt, and meanwhile the channel follows again.
            try await fixture.untrack(channels[2])
            try await fixture.track(channels[2], 202)
            isBusy.store(false, ordering: .relaxed)
            try await fixture.retryNow()
            return [
                try await fixture.finished(end),
                try await fixture.finished(try await fixture.publish(alert: false, label: "update")),
            ]
        }
        #expect(ledgers[0].targets == 3 && ledgers[0].delivered == 2 && ledgers[0].skipped == 1)
        #expect(transport.taken(0) == ["end"] && transport.taken(101) == ["end"], "also whose token was rotated")
        #expect(transport.taken(200) == ["update"] && transport.taken(202) == ["update"])
        #expect(ledgers[1].targets == 2 && ledgers[1].delivered == 2)
    }

    @Test func `a new card of a channel that follows already is not ended by an older end`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = [ChannelID.random(), ChannelID.random()]
        for (number, channel) in channels.enumerated() { try await fixture.follow(channel, number, card: "first") }
        let isBusy = Atomic(true)
        let transport = ScriptedTransport(byLabel: { token, label, _ in
            WorkerFixture.number(token) == 1 && label == "end" && isBusy.load(ordering: .relaxed)
                ? WaitingTests.busy(retryAfter: 1) : .accepted
        })
        // No worker runs yet, so the sweep of the end comes after the first of the two cards.
        let end = try await fixture.publish(event: .end, label: "end")
        try await fixture.isLater(than: nowMilliseconds() + 1)
        try await fixture.follow(channels[0], 100, card: "second")
        let ledgers = try await fixture.withWorker(transport) {
            try await fixture.swept(end)
            // The other card begins while its channel's end waits for another attempt.
            try await fixture.follow(channels[1], 101, card: "second")
            isBusy.store(false, ordering: .relaxed)
            return [
                try await fixture.finished(end),
                try await fixture.finished(try await fixture.publish(alert: false, label: "update")),
            ]
        }
        #expect(ledgers[0].delivered == 0 && ledgers[0].skipped == 1, "\(ledgers[0])")
        #expect(transport.taken(100) == ["update"] && transport.taken(101) == ["update"])
        #expect(ledgers[1].targets == 2 && ledgers[1].delivered == 2)
    }

    @Test func `whole names end`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<5_000)
        let transport = ScriptedTransport { token, attempt in
            attempt == 1 && WorkerFixture.number(token) % 100 == 0 ? WaitingTests.busy() : .accepted
        }
        let end = try await fixture.withWorker(transport) {
            try await fixture.finished(try await fixture.publish(event: .end))
        }
        #expect(end.delivered == 5_000 && end.targets == 5_000 && end.pending == 0)
        #expect(try await fixture.store.names.info(fixture.app, fixture.name)?.tokens == 0)
    }

    @Test func `an end whose worker died before the removal holds`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.track(0..<3)
        let end = try await fixture.publish(.channel(channels[1]), event: .end, label: "end")
        let claim = try await fixture.claimed(end)
        var page = Settlement(range: claim.lease.bounds)
        page.targets = 1
        page.remove(TokenRemoval(channel: channels[1].stored, token: [0, 0, 0, 1], endedAt: nowMilliseconds()))
        _ = try await fixture.store.sweeps.settle(claim.lease, for: .seconds(10), page)
        // The worker dies here, and the token is still in the registry.
        let transport = ScriptedTransport()
        let update = try await fixture.withWorker(transport) {
            try await fixture.finished(try await fixture.publish(label: "update"))
        }
        #expect(update.targets == 2 && transport.taken(1).isEmpty)
        let ledger = try await fixture.finished(end)
        #expect(ledger.state == .done && ledger.delivered == 1, "counted when it was struck")
    }

    @Test func `an end that waits behind an alert is the last`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.track(0..<2)
        let isBusy = Atomic(true)
        let transport = ScriptedTransport(byLabel: { token, label, _ in
            WorkerFixture.number(token) == 0 && label == "alert" && isBusy.load(ordering: .relaxed)
                ? WaitingTests.busy(retryAfter: 600) : .accepted
        })
        let ledgers = try await fixture.withWorker(transport) {
            var ids = [try await fixture.publish(label: "alert")]
            try await fixture.swept(ids[0])
            ids.append(try await fixture.publish(.channel(channels[0]), event: .end, label: "end"))
            try await fixture.swept(ids[1])
            ids.append(try await fixture.publish(alert: false, label: "update"))
            try await fixture.swept(ids[2])
            isBusy.store(false, ordering: .relaxed)
            try await fixture.retryNow()
            ids.append(try await fixture.publish(label: "later"))
            var ledgers: [Ledger] = []
            for id in ids { ledgers.append(try await fixture.finished(id)) }
            return ledgers
        }
        #expect(transport.taken(0) == ["alert", "end"])
        #expect(transport.taken(1) == ["alert", "update", "later"])
        #expect(ledgers.map(\.delivered) == [2, 1, 1, 1])
        #expect(ledgers[2].skipped + ledgers[2].superseded == 1 && ledgers.allSatisfy { $0.pending == 0 })
    }

    /// The retry of an `end` and a newer push's sweep run at the same time. The sweep may have read its
    /// page before the removal.
    @Test(arguments: 0..<8) func `a sweep beside the ends retry does not overtake the removal`(round: Int) async throws
    {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.track(0..<300)
        let transport = ScriptedTransport(byLabel: { _, label, attempt in
            label == "end" && attempt == 1 ? WaitingTests.busy() : .accepted
        })
        try await fixture.withWorker(transport) {
            try await fixture.withWorker(transport) {
                let some = Audience.or(channels[..<100].map { .channel($0) })
                var ids = [try await fixture.publish(some, event: .end, label: "end")]
                for number in 0..<10 {
                    ids.append(try await fixture.publish(label: "\(number)"))
                    try await fixture.swept(ids[number])
                }
                for id in ids {
                    let ledger = try await fixture.finished(id)
                    #expect(ledger.pending == 0 && ledger.state == .done, "\(ledger)")
                }
            }
        }
        let taken = transport.taken
        for number in 0..<100 { #expect(taken[number] == ["end"]) }
        for number in 100..<300 { #expect(taken[number] == (0..<10).map { "\($0)" }) }
    }
}

extension WorkerFixture {
    /// Takes the lease of the name's retries from a worker that is alive.
    fileprivate func robbedOfRetries() async throws -> Lease {
        for _ in 0..<1_000 {
            try await store.redis.send(RedisCommand("HSET", key(Keyspace.nameLeases), "r:d", "0"))
            let claim = try await store.sweeps.claimRetries(app, name, owner: "other", lease: .seconds(600))
            if case .claimed(let lease, _, _) = claim { return lease }
        }
        throw WorkerFixtureError(description: "the lease could not be taken")
    }

    /// Ends the wait of all channels that are due, as for a final push.
    fileprivate func dropAll(_ lease: Lease) async throws {
        var settlement = RetrySettlement()
        let now = nowMilliseconds()
        for channel in try await store.sweeps.dueChannels(lease, store.tokens, now: now, limit: 10) {
            settlement.drop(channel)
        }
        #expect(try await store.sweeps.settle(lease, for: .seconds(600), settlement) == .ok(firstRetry: nil))
    }

    fileprivate func isRemoved() async throws {
        try await eventually("a token is removed") { try await store.names.info(app, name)?.tokens == 2 }
    }

    fileprivate func follow(_ channel: ChannelID, _ number: Int, card: String) async throws {
        var registration = Registration(
            channel: channel, token: try #require(Self.token(number)), registeredAt: nowMilliseconds())
        registration.activityID = card
        #expect(try await store.registry.track(app, .activity(name), [registration]) == [.stored])
    }
}
