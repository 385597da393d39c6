import LiveActivity
import Redis
import Synchronization
import TestSupport
import Testing

@testable import Store

/// A card that began late waits in its channel's line: pushes that were swept before it bring their state without their
/// alert.
@Suite struct LateJoinerQueueTests {
    private static let name = "match-1"
    private let channel = ChannelID.random()

    @Test func `pushes swept before a card began go out without their alerts and later ones ring`() async throws {
        let fixture = try await PushFixture.start()
        try await follow(fixture, 1, card: "first")
        let old = try await waiting(fixture)
        let missed = try await swept(fixture)
        try await follow(fixture, 2, card: "second", wantsState: true)
        try await put(fixture, missed)
        let later = try await joined(fixture)
        let lease = try await fixture.claimRetries(Self.name)
        // A rotated token and another attempt change nothing about it.
        let first = try #require(try await fixture.due(lease).first)
        try await follow(fixture, 3, card: "second")
        try await fixture.settle(lease) { $0.finish(first, as: .delivered) }
        let again = try #require(try await fixture.due(lease).first)
        #expect(again.push == old && again.token?[0] == 3 && again.isLate)
        for attempts in [7, 700] {
            let waiting = try #require(try await fixture.due(lease).first)
            try await fixture.settle(lease) {
                $0.postpone(waiting, due: 5, attempts: attempts, reason: "busy", mayBeDuplicate: false)
            }
        }
        let postponed = try #require(try await fixture.due(lease).first)
        #expect(postponed.isLate && (500..<700).contains(postponed.attempts))
        #expect(try await order(fixture, lease) == [Place(old, true), Place(missed, true), Place(later, false)])
        for id in [old, missed, later] { #expect(try await fixture.ledger(id).pending == 0) }
    }

    /// The line changes while an attempt of its first push is on the wire: that attempt still counts.
    @Test func `an attempt in flight is settled once although a late joiner's state joined its queue`() async throws {
        let fixture = try await PushFixture.start()
        try await follow(fixture, 1, card: "first")
        let old = try await waiting(fixture)
        let missed = try await swept(fixture)
        let lease = try await fixture.claimRetries(Self.name)
        try await follow(fixture, 2, card: "second", wantsState: true)
        let first = try #require(try await fixture.due(lease).first)
        try await put(fixture, missed)
        for _ in 0..<2 { try await fixture.settle(lease) { $0.finish(first, as: .delivered) } }
        #expect(try await fixture.ledger(old).delivered == 1)
        #expect(try await order(fixture, lease) == [Place(missed, true)])
    }

    @Test func `a late joiner's state behind a delivered end goes out without its alert`() async throws {
        let fixture = try await PushFixture.start()
        try await follow(fixture, 1, card: "first")
        let end = try await fixture.accepted(Self.name, event: .end, audience: .channel(channel))
        try await fixture.retry(try await fixture.claimed(Self.name, end), [channel.stored], due: 5_000)
        let missed = try await swept(fixture)
        let lease = try await fixture.claimRetries(Self.name)
        let first = try #require(try await fixture.due(lease).first)
        let token = try #require(first.token)
        try await fixture.settle(lease) {
            $0.remove(first, TokenRemoval(channel: channel.stored, token: token, endedAt: 1_795_000_001_000))
        }
        try await follow(fixture, 2, card: "second", wantsState: true, at: 1_795_000_001_500)
        try await put(fixture, missed)
        let later = try await joined(fixture)
        #expect(try await fixture.due(lease).isEmpty, "the removal is still owed")
        let pending = try await fixture.pendingRemovals(Self.name)
        _ = try await fixture.store.sweeps.confirm(
            fixture.app, ActivityName(Self.name), pending.map { (pending: $0, as: .delivered) })
        #expect(try await order(fixture, lease) == [Place(missed, true), Place(later, false)])
    }

    @Test func `a started card's end behind an older alert rings neither`() async throws {
        let fixture = try await PushFixture.start()
        try await follow(fixture, 1, card: "first")
        let old = try await waiting(fixture)
        try await fixture.store.lateJoiners.expect(
            fixture.app, ActivityName(Self.name), [channel.stored], startedBy: 1, now: 1_795_000_000_000)
        let end = try await fixture.accepted(Self.name, event: .end, alert: true)
        _ = try await fixture.deliver(try await fixture.claimed(Self.name, end), targets: 0)
        try await follow(fixture, 2, card: "second", at: 1_795_000_000_000)
        let lease = try await fixture.claimRetries(Self.name)
        #expect(try await order(fixture, lease) == [Place(old, true), Place(end, true)])
    }

    /// The newer end reaches the card by its own sweep. Other pushes may reach it before, so the missed end goes first.
    @Test func `a started card gets the end that it missed although a newer one waits`() async throws {
        let fixture = try await PushFixture.start()
        try await follow(fixture, 1, card: "first")
        try await fixture.store.lateJoiners.expect(
            fixture.app, ActivityName(Self.name), [channel.stored], startedBy: 0, now: 1_795_000_000_000)
        let missed = try await fixture.accepted(Self.name, event: .end)
        _ = try await fixture.deliver(try await fixture.claimed(Self.name, missed), targets: 0)
        _ = try await fixture.accepted(Self.name, event: .end)
        try await follow(fixture, 2, card: "second", at: 1_795_000_000_000)
        let lease = try await fixture.claimRetries(Self.name)
        #expect(try await order(fixture, lease) == [Place(missed, true)])
    }

    /// A newer push that takes the last place of the line has an alert of its own.
    @Test func `a newer push that supersedes a late joiner's state keeps its alert`() async throws {
        let fixture = try await PushFixture.start()
        try await follow(fixture, 1, card: "first")
        let old = try await waiting(fixture)
        let missed = try await swept(fixture, alert: false)
        try await follow(fixture, 2, card: "second", wantsState: true)
        try await put(fixture, missed)
        let later = try await joined(fixture)
        let lease = try await fixture.claimRetries(Self.name)
        #expect(try await order(fixture, lease) == [Place(old, true), Place(later, false)])
        #expect(try await fixture.ledger(missed).superseded == 1)
    }

    @Test func `a late joiner's state and a started card's end join a full retry queue`() async throws {
        for isEnd in [false, true] {
            let fixture = try await PushFixture.start()
            try await follow(fixture, 1, card: "first")
            var line = [try await waiting(fixture)]
            for _ in 1..<64 { line.append(try await joined(fixture)) }
            let ended = Mutex<[PushID]>([])
            fixture.store.endings.listen { ending in ended.withLock { $0.append(ending.push) } }
            let last: PushID
            if isEnd {
                try await fixture.store.lateJoiners.expect(
                    fixture.app, ActivityName(Self.name), [channel.stored], startedBy: 1, now: 1_795_000_000_000)
                last = try await fixture.accepted(Self.name, event: .end, alert: true)
                _ = try await fixture.deliver(try await fixture.claimed(Self.name, last), targets: 0)
                try await follow(fixture, 2, card: "second", at: 1_795_000_000_000)
            } else {
                last = try await swept(fixture)
                try await follow(fixture, 2, card: "second", wantsState: true)
                try await put(fixture, last)
            }
            let letter = try #require(try await fixture.store.deadLetters.letter(fixture.app, line[1]))
            #expect(letter.reasons == ["TooManyWaiting": 1])
            // A gateway's registration tells of no end: docs/reference.md.
            let isTold = ended.withLock(\.self).contains(line[1])
            #expect(isTold == !isEnd)
            #expect(try await fixture.ledger(line[1]).state.isFinal)
            line.remove(at: 1)
            let lease = try await fixture.claimRetries(Self.name)
            #expect(try await order(fixture, lease) == (line + [last]).map { Place($0, true) })
            for id in line + [last] { #expect(try await fixture.ledger(id).pending == 0) }
        }
    }

    // MARK: The words of these stories

    private struct Place: Equatable {
        var push: PushID
        var isLate: Bool
        init(_ push: PushID, _ isLate: Bool) { (self.push, self.isLate) = (push, isLate) }
    }

    private func follow(
        _ fixture: PushFixture, _ token: UInt8, card: String, wantsState: Bool = false,
        at time: Int64 = 1_795_000_000_000
    ) async throws {
        let registration = Registration(
            channel: channel, token: try #require(PushToken(bytes: [token])), registeredAt: time + Int64(token),
            activityID: card, wantsState: wantsState)
        let name = try ActivityName(Self.name)
        #expect(try await fixture.store.registry.track(fixture.app, .activity(name), [registration]) == [.stored])
    }

    /// An alert that the channel waits for.
    private func waiting(_ fixture: PushFixture) async throws -> PushID {
        let id = try await fixture.accepted(Self.name, alert: true)
        try await fixture.retry(try await fixture.claimed(Self.name, id), [channel.stored], due: 5_000)
        return id
    }

    /// One for others, whose sweep passes the channel by.
    private func swept(_ fixture: PushFixture, alert: Bool = true) async throws -> PushID {
        let id = try await fixture.accepted(Self.name, alert: alert)
        _ = try await fixture.deliver(try await fixture.claimed(Self.name, id), targets: 1)
        return id
    }

    /// An alert whose sweep finds the channel in line.
    private func joined(_ fixture: PushFixture) async throws -> PushID {
        let id = try await fixture.accepted(Self.name, alert: true)
        try await fixture.joinQueues(try await fixture.claimed(Self.name, id), [channel.stored])
        return id
    }

    /// As a worker decides about the late follower.
    private func put(_ fixture: PushFixture, _ push: PushID) async throws {
        let (late, name) = (fixture.store.lateJoiners, try ActivityName(Self.name))
        let states = try await late.states(fixture.app, name)
        let found = Mutex<[LateJoiner]>([])
        try await late.each(fixture.app, name) { part throws(StoreError) in found.withLock { $0 += part } }
        let decisions = found.withLock { $0.map { ($0, LateDecision.put(push)) } }
        #expect(try await late.settle(fixture.app, name, states, decisions)?.put == 1)
    }

    /// Delivers the line to its end.
    private func order(_ fixture: PushFixture, _ lease: Lease) async throws -> [Place] {
        var places: [Place] = []
        while let waiting = try await fixture.due(lease).first, places.count < 100 {
            places.append(Place(waiting.push, waiting.isLate))
            try await fixture.settle(lease) { $0.finish(waiting, as: .delivered) }
        }
        return places
    }
}
