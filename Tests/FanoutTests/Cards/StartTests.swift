import APNsClient
import APNsWire
import Delivery
import LiveActivity
import ServiceLifecycle
import Store
import Synchronization
import Testing

@testable import Fanout

/// Tests starts. They go to the start tokens of their attributes type, with the guarantees of every push.
@Suite struct StartTests {
    private static let type = "MatchAttributes"

    @Test func `a start goes to the start tokens of its type alone`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.offer(0..<3)
        try await fixture.offer(10..<12, type: "OtherAttributes")
        try await fixture.track(20..<22)
        let transport = ScriptedTransport()
        let ledgers = try await fixture.withWorker(transport, claimAfter: .seconds(60)) {
            [
                try await fixture.finished(try await fixture.begin(label: "start")),
                try await fixture.finished(try await fixture.begin(.channel(channels[1]), label: "one")),
                try await fixture.finished(try await fixture.publish(label: "update")),
            ]
        }
        #expect(ledgers.map(\.targets) == [3, 1, 2] && ledgers.map(\.delivered) == [3, 1, 2])
        #expect(transport.taken == [0: ["start"], 1: ["start", "one"], 2: ["start"], 20: ["update"], 21: ["update"]])
        let sent = transport.pushes(to: try #require(WorkerFixture.token(1)).bytes)
        #expect(
            sent.map { $0.value("apns-collapse-id") } == [
                CollapseID.start(fixture.name), CollapseID.start(fixture.name),
            ])
        #expect(CollapseID.start(fixture.name).utf8.count == 32)
        #expect(CollapseID.start(fixture.name) != CollapseID.start(try ActivityName("match-2")))
        let update = transport.pushes(to: try #require(WorkerFixture.token(20)).bytes)
        #expect(update.map { $0.value("apns-collapse-id") } == [nil])
    }

    @Test func `a channel that follows the name is skipped unless a restart is asked for`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.offer(0..<4)
        try await fixture.track(channels[0], 100)
        // An activity is over nine hours after its start, whether its end was reported or not.
        let over = Registration(
            channel: channels[1], token: try #require(WorkerFixture.token(101)),
            registeredAt: nowMilliseconds() - 8 * 3_600_000, startedAt: nowMilliseconds() - 8 * 3_600_000 - 60_000)
        #expect(try await fixture.store.registry.track(fixture.app, .activity(fixture.name), [over]) == [.stored])
        let transport = ScriptedTransport()
        let (first, second, third) = try await fixture.withWorker(transport, claimAfter: .seconds(60)) {
            let first = try await fixture.finished(try await fixture.begin(label: "first"))
            try await fixture.track(channels[1], 201)
            let second = try await fixture.finished(try await fixture.begin(label: "second"))
            return (first, second, try await fixture.finished(try await fixture.begin(restart: true, label: "third")))
        }
        #expect(first.targets == 4 && first.delivered + first.skipped == 4)
        #expect(second.targets == 4 && second.delivered == 2 && second.skipped == 2 && second.pending == 0)
        #expect(third.targets == 4 && third.delivered == 4 && third.skipped == 0)
        #expect(transport.taken(0) == ["third"] && transport.taken(2) == ["first", "second", "third"])
        #expect(transport.taken(1).suffix(1) == ["third"])
    }

    @Test func `tokens that were last reported long ago are counted as stale`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.offer(0..<3)
        try await fixture.offer(10..<14, hoursAgo: 49)
        let transport = ScriptedTransport { token, attempt in
            switch WorkerFixture.number(token) {
            case 10 where attempt == 1: WaitingTests.busy()
            case 11: .rejected(Rejection(status: 400, reason: .known(.badDeviceToken)))
            default: .accepted
            }
        }
        let ledger = try await fixture.withWorker(transport, claimAfter: .seconds(60)) {
            try await fixture.finished(try await fixture.begin())
        }
        #expect(ledger.targets == 7 && ledger.delivered == 6 && ledger.pruned == 1, "\(ledger)")
        #expect(ledger.stale == 3, "delivered and old: one of them by its second attempt")
    }

    @Test func `a dead start token is pruned and nothing else`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.offer(0..<4)
        try await fixture.track(channels[0], 100)
        try await fixture.offer([channels[0]], from: 0, type: "OtherAttributes")
        @Sendable func gone(_ timestamp: Int64) -> PushOutcome {
            .rejected(Rejection(status: 410, reason: .known(.unregistered), timestamp: timestamp))
        }
        let before = nowMilliseconds() - 3_600_000
        let transport = ScriptedTransport { token, _ in
            switch WorkerFixture.number(token) {
            case 0: gone(nowMilliseconds())
            // This token died before it was registered, so the registration is newer than that answer.
            case 1: gone(before)
            default: .accepted
            }
        }
        let ledger = try await fixture.withWorker(transport, claimAfter: .seconds(60)) {
            try await fixture.finished(try await fixture.begin(restart: true))
        }
        #expect(ledger.pruned == 1 && ledger.failed == 1 && ledger.delivered == 2 && ledger.targets == 4)
        let store = fixture.store
        #expect(try await store.names.info(fixture.app, fixture.name)?.tokens == 1)
        #expect(try await store.tokens.startTokens(fixture.app, Self.type, reportedBefore: 0).tokens == 3)
        #expect(try await store.tokens.startTokens(fixture.app, "OtherAttributes", reportedBefore: 0).tokens == 1)
    }

    @Test func `a token that was replaced meanwhile is not pruned`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.offer(0..<1)
        let transport = ScriptedTransport { token, _ in
            WorkerFixture.number(token) == 0
                ? .rejected(Rejection(status: 410, reason: .known(.unregistered), timestamp: nowMilliseconds()))
                : .accepted
        }
        transport.hold()
        let (first, second) = try await fixture.withWorker(transport, claimAfter: .seconds(60)) {
            let first = try await fixture.begin(label: "first")
            await transport.holding(pages: 1)
            try await fixture.offer([channels[0]], from: 50)
            transport.letGo()
            return (
                try await fixture.finished(first),
                try await fixture.finished(try await fixture.begin(label: "second"))
            )
        }
        #expect(first.failed == 1 && first.pruned == 0 && second.delivered == 1)
        #expect(transport.taken(50) == ["second"])
    }

    @Test func `a retry goes to the start token that the channel has then`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.offer(0..<4)
        let isBusy = Atomic(true)
        let transport = ScriptedTransport { _, _ in
            isBusy.load(ordering: .relaxed) ? WaitingTests.busy(retryAfter: 600) : .accepted
        }
        let ledger = try await fixture.withWorker(transport, claimAfter: .seconds(60)) {
            let id = try await fixture.begin()
            try await fixture.swept(id)
            try await fixture.offer([channels[0]], from: 50)
            // Its start came after all, in an attempt that got another answer. Its token is registered now.
            try await fixture.track(channels[1], 101)
            try await fixture.store.registry.untrack(
                fixture.app, .startTokens(of: Self.type),
                [Untrack(channel: channels[2], removedAt: nowMilliseconds())])
            isBusy.store(false, ordering: .relaxed)
            try await fixture.retryNow()
            return try await fixture.finished(id)
        }
        #expect(ledger.targets == 4 && ledger.delivered == 2 && ledger.skipped == 2 && ledger.retries == 4)
        #expect(transport.taken.keys.sorted() == [3, 50])
    }

    /// The device is faster than the settlement: its card reports its token before the answers are counted.
    @Test func `a token registered during the retry does not repeat the start`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.offer(0..<1)
        let transport = ScriptedTransport { _, attempt in
            attempt == 1 ? WaitingTests.busy(retryAfter: 600) : .accepted
        }
        let ledger = try await fixture.withWorker(transport, claimAfter: .seconds(60)) {
            let id = try await fixture.begin()
            try await fixture.swept(id)
            transport.hold()
            try await fixture.retryNow()
            await transport.holding(pages: 1)
            try await fixture.track(channels[0], 100)
            transport.letGo()
            return try await fixture.finished(id)
        }
        #expect(ledger.delivered == 1 && ledger.skipped == 0 && transport.total == 2)
    }

    @Test func `a start supersedes no update and is sent after it`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(100..<102)
        let channels = try await fixture.offer(0..<2)
        // This channel waits at 100 for an update. Its start is still sent.
        try await fixture.offer([try await fixture.channel(of: 100)], from: 2)
        let transport = ScriptedTransport(byLabel: { token, label, attempt in
            WorkerFixture.number(token) == 100 && label == "update" && attempt == 1
                ? WaitingTests.busy(retryAfter: 1) : .accepted
        })
        let update = try await fixture.publish(alert: false, label: "update")
        let start = try await fixture.begin(restart: true, label: "start")
        let ledgers = try await fixture.withWorker(transport, claimAfter: .seconds(60)) {
            [try await fixture.finished(update), try await fixture.finished(start)]
        }
        #expect(ledgers.map(\.superseded) == [0, 0] && ledgers.map(\.delivered) == [2, 3])
        let order = transport.requests.filter { $0.isAccepted && [100, 2].contains(WorkerFixture.number($0.token)) }
        #expect(order.map(\.label) == ["update", "start"], "the channel gets one after the other")
        #expect(channels.count == 2)
    }

    @Test func `nothing starts after the end and a start makes the name live`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.offer(0..<3)
        let start = try await fixture.begin(label: "start")
        let end = try await fixture.publish(event: .end, label: "end")
        await #expect(throws: WorkerFixtureError.self) { try await fixture.publish(label: "refused") }
        let transport = ScriptedTransport()
        let isBusy = Atomic(false)
        let waiting = ScriptedTransport { _, _ in
            isBusy.load(ordering: .relaxed) ? WaitingTests.busy(retryAfter: 600) : .accepted
        }
        try await fixture.withWorker(transport, claimAfter: .seconds(60)) {
            let first = try await fixture.finished(start)
            #expect(first.state == .done && first.targets == 3 && first.skipped == 3)
            #expect(try await fixture.finished(end).targets == 0)
        }
        #expect(transport.total == 0)
        try await fixture.withWorker(waiting, claimAfter: .seconds(60)) {
            let again = try await fixture.finished(try await fixture.begin(label: "again"))
            #expect(again.delivered == 3)
            #expect(try await fixture.finished(try await fixture.publish(label: "update")).state == .done)
            // The end also ends a start that waits for another attempt.
            isBusy.store(true, ordering: .relaxed)
            let late = try await fixture.begin(label: "late")
            try await fixture.swept(late)
            _ = try await fixture.publish(event: .end, label: "end")
            isBusy.store(false, ordering: .relaxed)
            try await fixture.retryNow()
            #expect(try await fixture.finished(late).skipped == 3)
        }
        #expect(waiting.taken == [0: ["again"], 1: ["again"], 2: ["again"]])
    }

    /// There are more shards than one worker claims at once, so each worker has some while both are held.
    @Test func `a large start is shared by two workers and each token is sent once`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.offer(0..<20_000)
        let (first, second) = (ScriptedTransport(), ScriptedTransport())
        for transport in [first, second] { transport.hold() }
        let ledger = try await fixture.withWorker(first, claimAfter: .seconds(60), pageSize: 200) {
            try await fixture.withWorker(second, claimAfter: .seconds(60), pageSize: 200) {
                let id = try await fixture.begin()
                for transport in [first, second] {
                    await transport.holding(pages: 1)
                    #expect(transport.total == 0)
                }
                for transport in [first, second] { transport.letGo() }
                return try await fixture.finished(id)
            }
        }
        #expect(ledger.targets == 20_000 && ledger.delivered == 20_000 && ledger.state == .done && ledger.pending == 0)
        let counts = first.counts.merging(second.counts, uniquingKeysWith: +)
        #expect(counts.count == 20_000 && counts.values.allSatisfy { $0 == 1 })
        #expect(first.total > 0 && second.total > 0 && first.pages + second.pages > 50)
    }

    @Test func `many wrong start tokens are held back for every name of their type`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.offer(0..<300)
        let isWrong = Atomic(true)
        let transport = ScriptedTransport { _, _ in
            isWrong.load(ordering: .relaxed)
                ? .rejected(Rejection(status: 400, reason: .known(.badDeviceToken))) : .accepted
        }
        let place = TokenPlace.startTokens(of: Self.type)
        try await fixture.withWorker(transport, claimAfter: .seconds(60)) {
            let first = try await fixture.finished(try await fixture.begin())
            #expect(first.failed == 300 && first.pruned == 0 && first.errors["Quarantined"] == 300)
            let listed = try await fixture.store.quarantine.list(fixture.app, limit: 10)
            #expect(listed.map(\.place) == [place] && listed.map(\.tokens) == [300])
            isWrong.store(false, ordering: .relaxed)
            let other = try ActivityName("match-2")
            let second = try await fixture.finished(try await fixture.begin(to: other))
            #expect(second.failed == 300 && transport.total == 300)
            #expect(try await fixture.store.quarantine.release(fixture.app, place).released == 300)
            let third = try await fixture.finished(try await fixture.begin(to: other))
            #expect(third.delivered == 300)
            #expect(try await fixture.store.quarantine.list(fixture.app, limit: 10).isEmpty)
        }
    }

    @Test func `where a start token lives is remembered for its type`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.offer(0..<2)
        let production = ScriptedTransport { token, _ in
            WorkerFixture.number(token) == 0
                ? .accepted : .rejected(Rejection(status: 400, reason: .known(.badDeviceToken)))
        }
        let sandbox = ScriptedTransport()
        try await fixture.withWorker(production, other: sandbox, claimAfter: .seconds(60)) {
            let first = try await fixture.finished(try await fixture.begin())
            let other = try ActivityName("match-2")
            let second = try await fixture.finished(try await fixture.begin(to: other))
            #expect(first.delivered == 2 && second.delivered == 2)
        }
        #expect(production.counts.mapKeys(WorkerFixture.number) == [0: 2, 1: 1])
        #expect(sandbox.counts.mapKeys(WorkerFixture.number) == [1: 2])
    }

    @Test func `a dead letters retry goes to start tokens`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.offer(0..<3)
        let isDown = Atomic(true)
        let transport = ScriptedTransport { token, _ in
            isDown.load(ordering: .relaxed) && WorkerFixture.number(token) > 0
                ? .rejected(Rejection(status: 503, reason: .known(.serviceUnavailable))) : .accepted
        }
        try await fixture.withWorker(transport, claimAfter: .seconds(60)) {
            let id = try await fixture.begin()
            let given = try await fixture.finished(id)
            #expect(given.delivered == 1 && given.failed == 2)
            try await fixture.track(channels[1], 101)
            isDown.store(false, ordering: .relaxed)
            #expect(
                try await fixture.store.deadLetters.retry(fixture.app, id) == .taken(tokens: 2, isResumed: false))
            let ledger = try await fixture.finished(id)
            #expect(ledger.delivered == 2 && ledger.skipped == 1 && ledger.failed == 0)
        }
        #expect(transport.taken[101] == nil && transport.taken.keys.sorted() == [0, 2])
    }

    @Test func `expired and cancelled like any push`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.offer(0..<2)
        let expired = try await fixture.begin(expiry: Int(nowMilliseconds() / 1_000) - 10)
        let cancelled = try await fixture.begin()
        #expect(try await fixture.store.pushes.cancel(fixture.app, cancelled)?.state == .cancelled)
        let transport = ScriptedTransport()
        try await fixture.withWorker(transport, claimAfter: .seconds(60)) {
            let ledger = try await fixture.finished(expired)
            #expect(ledger.state == .expired && ledger.expired == 2)
        }
        #expect(transport.total == 0)
    }

    /// A worker was killed with -9. The shard was claimed, some of its pages were settled, and no worker
    /// has claimed it since.
    @Test func `another worker goes on where a dead one stopped`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.offer(0..<500)
        let id = try await fixture.begin()
        let claim = try await fixture.claimed(id, lease: .zero)
        #expect(claim.record.startTokens == .startTokens(of: Self.type))
        // The dead worker sent and settled one page, but not its next one.
        let (page, next, _) = try await fixture.store.tokens.markedPage(
            fixture.app, .startTokens(of: Self.type), from: claim.position, to: .end, limit: 100)
        var settlement = Settlement(range: claim.position..<next)
        settlement.targets = page.count
        settlement.count(.delivered, page.count)
        _ = try await fixture.store.sweeps.settle(claim.lease, for: .zero, settlement)
        let transport = ScriptedTransport()
        let ledger = try await fixture.withWorker(transport, claimAfter: .seconds(60), pageSize: 100) {
            try await fixture.finished(id)
        }
        #expect(ledger.targets == 500 && ledger.delivered == 500)
        #expect(transport.counts.count == 500 - page.count && transport.counts.values.allSatisfy { $0 == 1 })
    }
}

extension WorkerFixture {
    /// Channels with start tokens. The tokens are the numbers from `range`.
    @discardableResult
    func offer(
        _ range: Range<Int>, type: String = "MatchAttributes", hoursAgo: Double = 0.01
    ) async throws -> [ChannelID] {
        let channels = range.map { _ in ChannelID.random() }
        try await offer(channels, from: range.lowerBound, type: type, hoursAgo: hoursAgo)
        return channels
    }

    func offer(
        _ channels: [ChannelID], from number: Int, type: String = "MatchAttributes", hoursAgo: Double = 0
    ) async throws {
        let at = nowMilliseconds() - Int64(hoursAgo * 3_600_000)
        let registrations = try channels.enumerated().map { index, channel in
            Registration(channel: channel, token: try #require(Self.token(number + index)), registeredAt: at)
        }
        let results = try await store.registry.track(app, .startTokens(of: type), registrations)
        #expect(results.allSatisfy { $0 == .stored })
    }

    /// Publishes a start.
    func begin(
        _ audience: Audience = .all, restart: Bool = false, expiry: Int? = nil, label: String = "",
        to other: ActivityName? = nil
    ) async throws -> PushID {
        let publish = Publish(
            name: other ?? name, event: .start, audience: audience, alert: RawJSON(checked: #"{"title":"t"}"#),
            attributesType: "MatchAttributes", attributes: RawJSON(checked: "{}"),
            options: PublishOptions(expiry: expiry, restart: restart))
        let payload = #"{"aps":{"timestamp":0000000000,"label":"\#(label)","input-push-token":1}}"#
        let acceptance = try await store.pushes.accept(
            app, publish, id: .random(), payload: Array(payload.utf8), timestampOffset: 20, now: nowMilliseconds())
        guard case .accepted(let id, _, _) = acceptance else { throw WorkerFixtureError(description: "\(acceptance)") }
        return id
    }

    /// The channel that follows the name with a token of this number.
    func channel(of number: Int) async throws -> ChannelID {
        let page = try await store.tokens.page(app, .activity(name), from: .start, to: .end, limit: 1_000).page
        let index = try #require(page.entries.indices.first { Self.number(Array(page.token($0))) == number })
        return try #require(ChannelID(stored: page.channel(index)))
    }
}
