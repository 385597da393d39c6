import APNsSimulator
import APNsWire
import LiveActivity
import TestSupport
import Testing

@testable import Fanout
@testable import Store
@testable import StoreDeliveries

/// Tests the way from an accepted publish to the simulator's record: once to the broadcast channel, once to each token.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct PublishingTests {
    private func publish(
        _ it: BroadcastFixture, goals: Int, event: ActivityEvent = .update, audience: Audience = .all,
        isFirm: Bool = false,
        expiry: Int? = nil, size: Int? = nil
    ) async throws -> PushID {
        var state = #"{"goals":\#(goals)}"#
        if let size { state = #"{"goals":\#(goals),"text":"\#(String(repeating: "x", count: size))"}"# }
        let publish = Publish(
            name: try it.name(), event: event, audience: audience, contentState: RawJSON(checked: state),
            alert: isFirm ? RawJSON(checked: #"{"title":"Goal"}"#) : nil, options: PublishOptions(expiry: expiry))
        let id = PushID.random()
        let accepted = try await it.store.pushes.accept(
            it.app, publish, id: id, payload: Payload(publish, timestamp: Int(it.now / 1_000)).bytes,
            timestampOffset: Payload.timestampOffset)
        guard case .accepted = accepted else { throw Refused(acceptance: accepted) }
        return id
    }

    private struct Refused: Error { var acceptance: Acceptance }

    /// Waits until `isReady` and returns the app's counts. A broadcast is counted when it was settled.
    private func counts(
        _ it: BroadcastFixture, until isReady: ([BroadcastEvent: Int]) -> Bool
    ) async throws -> [BroadcastEvent: Int] {
        try await eventually("the broadcasts are counted") { isReady(try await it.store.broadcasts.counts(it.app)) }
        return try await it.store.broadcasts.counts(it.app)
    }

    private func liveChannel(_ it: BroadcastFixture, _ storage: BroadcastStorage = .none) async throws
        -> BroadcastChannelID
    {
        try await it.want(try it.name(), storage)
        await it.keeper().tick(it.app)
        return try #require(try await it.channel(try it.name())?.id)
    }

    private func follow(_ it: BroadcastFixture, _ count: Int) async throws {
        let registrations = try (0..<count).map { number in
            Registration(
                channel: try ChannelID("device-\(number)"),
                token: try PushToken(hex: String(repeating: "a\(number)", count: 40)), registeredAt: it.now)
        }
        _ = try await it.store.registry.track(it.app, .activity(try it.name()), registrations)
    }

    @Test func `once to the channel and once to each token`() async throws {
        try await BroadcastFixture.run { it in
            let channel = try await liveChannel(it)
            try await follow(it, 3)
            try await it.working {
                let done = try await it.ledger(try await publish(it, goals: 1, expiry: Int(it.now / 1_000) + 600))
                #expect(done.state == .done && done.targets == 3 && done.delivered == 3 && done.pending == 0)
                #expect(
                    done.broadcast
                        == PushBroadcast(state: .delivered, channel: channel, status: 200, attempts: 1))
                let received = try #require(it.simulator.channel(channel.rawValue)?.received)
                #expect(received.accepted == 1 && received.contentState == #"{"goals":1}"#)
                let record = it.simulator.snapshot()
                #expect(record.accepted == 3 && record.broadcasts.accepted == 1)
                // The push has an expiry but the channel keeps nothing. It was sent with 0, because APNs would have
                // refused it otherwise.
                #expect(record.broadcasts.byReason.isEmpty)
            }
        }
    }

    @Test func `a name may have nothing but a channel`() async throws {
        try await BroadcastFixture.run { it in
            let channel = try await liveChannel(it, .newest)
            try await it.working {
                let update = try await it.ledger(try await publish(it, goals: 1))
                #expect(update.state == .done && update.targets == 0 && update.broadcast?.state == .delivered)
                // The payload is above the limit of tokens, and near the limit of channels.
                let large = try await it.ledger(try await publish(it, goals: 2, size: 4_900))
                #expect(large.broadcast?.state == .delivered)
                let end = try await it.ledger(try await publish(it, goals: 3, event: .end))
                #expect(end.state == .done && end.broadcast?.state == .delivered)
                let received = try #require(it.simulator.channel(channel.rawValue)?.received)
                #expect(received.accepted == 3 && received.event == "end" && received.outOfOrder == 0)
                // The channel is deleted some time after the end.
                let state = try #require(try await it.channel(try it.name()))
                #expect(state.state == .live && state.deleteAt ?? 0 > it.now + 3_000_000)
                await it.keeper(later: .seconds(3_601)).tick(it.app)
                #expect(it.atAPNs.isEmpty)
            }
        }
    }

    /// Only the channel may get this payload. The tokens fail, but none is pruned.
    @Test func `a payload too large for tokens`() async throws {
        try await BroadcastFixture.run { it in
            _ = try await liveChannel(it)
            try await follow(it, 2)
            try await it.working {
                let done = try await it.ledger(try await publish(it, goals: 1, size: 4_500))
                #expect(done.state == .done && done.failed == 2 && done.errors == ["PayloadTooLarge": 2])
                #expect(done.broadcast?.state == .delivered)
                #expect(it.simulator.snapshot().requests == 0)
            }
        }
    }

    /// While APNs refuses, newer updates supersede older ones. Then the newest one is sent, and a push that may not be
    /// superseded keeps its place in the order.
    @Test func `newer updates supersede older ones in order`() async throws {
        try await BroadcastFixture.run { it in
            let channel = try await liveChannel(it)
            try await it.working {
                try it.set { $0.broadcastRejections = ["TooManyRequests": 1] }
                let first = try await publish(it, goals: 1)
                _ = try await it.ledger(first) { $0.broadcast?.attempts ?? 0 > 0 }
                let second = try await publish(it, goals: 2)
                _ = try await it.ledger(second) { $0.broadcast != nil }
                let goal = try await publish(it, goals: 3, isFirm: true)
                _ = try await it.ledger(goal) { $0.broadcast != nil }
                let last = try await publish(it, goals: 4)
                _ = try await it.ledger(last) { $0.broadcast != nil }
                try it.set { _ in }

                let end = try await it.ledger(last)
                #expect(end.state == .done && end.broadcast?.state == .delivered)
                for id in [first, second] {
                    let before = try await it.ledger(id)
                    #expect(before.state == .done && before.broadcast?.state == .superseded)
                }
                #expect(try await it.ledger(goal).broadcast?.state == .delivered)
                let received = try #require(it.simulator.channel(channel.rawValue)?.received)
                #expect(received.accepted == 2 && received.outOfOrder == 0 && received.contentState == #"{"goals":4}"#)
                let counts = try await counts(it) { $0[.delivered] == 2 && $0[.superseded] == 2 }
                #expect(counts[.retried] ?? 0 > 0)
                #expect(counts[.failed] == 0 && counts[.expired] == 0 && counts[.cancelled] == 0)
            }
        }
    }

    @Test func `a reload changes when the channel of an ended name is deleted`() async throws {
        try await BroadcastFixture.run { it in
            _ = try await liveChannel(it, .newest)
            try await it.working(live: { $0.broadcastChannelLife = .seconds(60) }) {
                let end = try await it.ledger(try await publish(it, goals: 1, event: .end))
                #expect(end.broadcast?.state == .delivered)
                let deleteAt = try #require(try await it.channel(try it.name())?.deleteAt)
                #expect((it.now - 1_000...it.now + 61_000).contains(deleteAt))
            }
        }
    }

    /// The channel was deleted without us. The broadcast waits for the new channel and goes to that.
    @Test func `a lost channel is made anew and gets the broadcast`() async throws {
        try await BroadcastFixture.run { it in
            let lost = try await liveChannel(it)
            #expect(it.simulator.deleteChannel(lost.rawValue))
            try await it.working {
                let done = try await it.ledger(try await publish(it, goals: 1))
                let channel = try #require(try await it.channel(try it.name())?.id)
                #expect(channel != lost && it.atAPNs == [channel.rawValue])
                #expect(done.broadcast?.state == .delivered && done.broadcast?.channel == channel)
                #expect(done.broadcast?.attempts == 2)
                #expect(it.simulator.snapshot().broadcasts.byReason == ["ChannelNotRegistered": 1])
            }
        }
    }

    @Test func `what is not for everyone is not broadcast`() async throws {
        try await BroadcastFixture.run { it in
            _ = try await liveChannel(it)
            try await follow(it, 1)
            try await it.working {
                let some = try await it.ledger(
                    try await publish(it, goals: 1, audience: .channel(try ChannelID("device-0"))))
                #expect(some.delivered == 1 && some.broadcast == nil)
                #expect(it.simulator.snapshot().broadcasts.requests == 0)
            }
        }
    }

    /// All subscribers get the same priority. The budget lowers it, and an alert keeps 10.
    @Test func `past the budget an update is broadcast at five`() async throws {
        try await BroadcastFixture.run { it in
            _ = try await liveChannel(it)
            func priority(_ goals: Int, isFirm: Bool = false) async throws -> String? {
                let done = try await it.ledger(try await publish(it, goals: goals, isFirm: isFirm))
                #expect(done.broadcast?.state == .delivered)
                return it.simulator.newest(.broadcast)?.fields.first { $0.name == "apns-priority" }?.value
            }
            try await it.working(budget: HighBudget(perHour: 2)) {
                var priorities: [String?] = []
                for goals in 1...3 { priorities.append(try await priority(goals)) }
                priorities.append(try await priority(4, isFirm: true))
                #expect(priorities == ["10", "10", "5", "10"])
            }
        }
    }

    @Test func `failures are shown and end the push`() async throws {
        try await BroadcastFixture.run { it in
            let channel = try await liveChannel(it)
            try await follow(it, 1)
            try await it.working {
                try it.set { $0.broadcastRejections = ["BadPriority": 1] }
                let failed = try await it.ledger(try await publish(it, goals: 1, isFirm: true))
                #expect(failed.state == .done && failed.delivered == 1)
                #expect(
                    failed.broadcast
                        == PushBroadcast(
                            state: .failed, channel: channel, status: 400, reason: "BadPriority", attempts: 1))
                #expect(try await it.store.alarms.list([it.app]).map(\.kind) == [.broadcast])

                // The push is tried once, whatever the response is.
                try it.set { $0.broadcastRejections = ["ServiceUnavailable": 1] }
                let once = try await it.ledger(try await publish(it, goals: 2, isFirm: true, expiry: 0))
                #expect(once.broadcast?.state == .failed && once.broadcast?.status == 503)

                let waiting = try await publish(it, goals: 3, isFirm: true)
                _ = try await it.ledger(waiting) { $0.broadcast?.attempts ?? 0 > 0 }
                _ = try await it.store.pushes.cancel(it.app, waiting)
                let cancelled = try await it.ledger(waiting) { $0.broadcast?.state == .cancelled }
                #expect(cancelled.state == .cancelled)
                let counts = try await counts(it) { $0[.failed] == 2 && $0[.cancelled] == 1 }
                #expect(counts[.delivered] == 0)
            }
        }
    }

    @Test func `a broadcast that expires is reported`() async throws {
        for isRefused in [true, false] {
            try await BroadcastFixture.run { it in
                if isRefused {
                    _ = try await liveChannel(it)
                    try it.set { $0.broadcastRejections = ["ServiceUnavailable": 1] }
                } else {
                    // The channel is never made.
                    try it.set { $0.manageRejections = ["FeatureNotEnabled": 1] }
                    try await it.want(try it.name())
                }
                try await it.working {
                    let id = try await publish(it, goals: 1, isFirm: true, expiry: Int(it.now / 1_000) + 2)
                    let expired = try await it.ledger(id)
                    #expect(expired.state == .done && expired.broadcast?.state == .expired)
                    try await eventually("the alarm") {
                        try await it.store.alarms.list([it.app]).contains { $0.kind == .expired }
                    }
                    let letters = try await it.store.deadLetters.list(it.app, after: nil, limit: 10)
                    #expect(letters.map(\.push) == [id] && letters.map(\.reasons) == [["Expired": 1]])
                    // No retry sends it once more.
                    try it.set { _ in }
                    #expect(try await it.store.deadLetters.retry(it.app, id) == .expired)
                    guard isRefused else { return }
                    let next = try await it.ledger(try await publish(it, goals: 2, isFirm: true))
                    #expect(next.broadcast?.state == .delivered)
                    #expect(it.simulator.snapshot().broadcasts.accepted == 1)
                }
            }
        }
    }

    /// Uses the broadcast queue without a worker. There is one sender at a time, and a sender without its
    /// lease changes nothing.
    @Test func `one sender at a time`() async throws {
        try await BroadcastFixture.run { it in
            _ = try await liveChannel(it)
            let id = try await publish(it, goals: 1)
            _ = try await it.store.sweeps.begin(
                it.app, try it.name(), expecting: id, owner: "one", lease: .seconds(10))
            func take(_ owner: String, _ lease: Duration) async throws -> BroadcastTurn {
                try await it.store.broadcasts.take(it.app, try it.name(), owner: owner, lease: lease).turn
            }
            guard case .send(let dead) = try await take("dead", .zero) else {
                Issue.record("nothing to send")
                return
            }
            #expect(dead.record.id == id && dead.attempts == 0 && dead.storage == .none)
            guard case .send(let task) = try await take("two", .seconds(60)) else {
                Issue.record("the lease was over")
                return
            }
            guard case .held = try await take("three", .zero) else {
                Issue.record("two senders")
                return
            }
            #expect(try await !it.store.broadcasts.settle(dead, BroadcastSettlement(.delivered, status: 200)))
            #expect(try await it.store.pushes.ledger(it.app, id)?.broadcast?.state == .waiting)
            #expect(try await it.store.sweeps.renew(task.lease, for: .seconds(60)))
            #expect(try await it.store.broadcasts.settle(task, BroadcastSettlement(.delivered, status: 200)))
            // A repeated settlement counts once.
            #expect(try await !it.store.broadcasts.settle(task, BroadcastSettlement(.failed, status: 400)))
            #expect(try await it.store.pushes.ledger(it.app, id)?.broadcast?.state == .delivered)
            guard case .idle = try await take("two", .zero) else {
                Issue.record("it is sent already")
                return
            }
        }
    }
}
