import APNsWire
import Delivery
import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Fanout
@testable import Store
@testable import StoreDeliveries

/// A push that begins replaces the state before it. That state comes back if the push is cancelled, refused or expires.
@Suite struct ReplacedStateTests {
    /// What became of the push that replaced state 1.
    enum Fate: CaseIterable {
        case delivered, cancelledInItsSweep, cancelledUndelivered, refused, refusedAfterSome, endCancelled, expired
        /// The label of the state that stands then.
        var standing: String {
            switch self {
            case .delivered, .cancelledInItsSweep, .refusedAfterSome: "2"
            case .cancelledUndelivered, .refused, .endCancelled, .expired: "1"
            }
        }
    }

    @Test(arguments: Fate.allCases)
    func `a newcomer and a started card get the state that stands`(fate: Fate) async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<2)
        let transport = Self.transport(fate)
        let (asking, started, silent) = (ChannelID.random(), ChannelID.random(), ChannelID.random())
        let ids = try await fixture.withWorker(transport) {
            // This takes the place of a `start`, which has its own sequence number.
            try await fixture.swept(["start"])
            let start = try await fixture.sequence(try #require(try await fixture.lastPush()))
            try await fixture.expect([started], startedBy: start)
            try await fixture.swept(["1"])
            let first = try #require(try await fixture.lastPush())
            let second = try await second(fixture, transport, fate)
            try await fixture.follow(silent, 8, wants: false)
            try await fixture.follow(asking, 10)
            try await fixture.follow(started, 11, wants: false)
            try await eventually("both have the state: \(transport.taken)") {
                !transport.taken(10).isEmpty && !transport.taken(11).isEmpty
            }
            try await fixture.nobodyIsLate()
            let standing = fate.standing == "2" ? second : first
            #expect(try await fixture.store.pushes.present(fixture.app, fixture.name).state?.ledger.id == standing)
            try await eventually("both are counted") {
                let ledger = try await fixture.store.pushes.ledger(fixture.app, standing)
                let delivered = fate == .refusedAfterSome ? 3 : 4
                return ledger?.late == 2 && ledger?.delivered == delivered && ledger?.pending == 0
            }
            return (first, second)
        }
        #expect(transport.taken(10) == [fate.standing] && transport.taken(11) == [fate.standing])
        #expect(transport.taken(8).isEmpty, "it did not ask")
        for id in [ids.0, ids.1] {
            let ledger = try #require(try await fixture.store.pushes.ledger(fixture.app, id))
            #expect(ledger.state.isFinal && ledger.pending == 0, "\(ledger)")
            #expect(ledger.failed >= 0 && ledger.skipped >= 0, "\(ledger)")
        }
    }

    /// Two pushes in a row are cancelled while they wait at all phones.
    @Test func `the state before two cancelled pushes comes back`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<1)
        let transport = ScriptedTransport(byLabel: { token, label, _ in
            WorkerFixture.number(token) == 0 && label != "1" ? WaitingTests.busy(retryAfter: 600) : .accepted
        })
        try await fixture.withWorker(transport) {
            try await fixture.swept(["1"])
            let first = try #require(try await fixture.lastPush())
            var ids: [PushID] = []
            for label in ["2", "3"] {
                ids.append(try await fixture.publish(alert: false, label: label))
                try await fixture.swept(ids.last!)
            }
            for id in ids.reversed() { _ = try await fixture.store.pushes.cancel(fixture.app, id) }
            try await fixture.follow(.random(), 10)
            try await eventually("it has the state") { transport.taken(10) == ["1"] }
            #expect(try await fixture.store.pushes.present(fixture.app, fixture.name).state?.ledger.id == first)
            try await fixture.retryNow()
            try await fixture.nobodyIsLate()
        }
        #expect(transport.taken == [0: ["1"], 10: ["1"]])
    }

    /// A push that reached nobody replaces nothing, so the next one keeps the state from before both.
    @Test func `a push behind a refused one is cancelled and the first state comes back`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<1)
        let transport = ScriptedTransport(byLabel: { _, label, _ in
            switch label {
            case "refused": Self.refusal
            case "cancelled": WaitingTests.busy(retryAfter: 600)
            default: .accepted
            }
        })
        try await fixture.withWorker(transport) {
            try await fixture.swept(["1", "refused"])
            let id = try await fixture.publish(alert: false, label: "cancelled")
            try await fixture.swept(id)
            _ = try await fixture.store.pushes.cancel(fixture.app, id)
            try await fixture.follow(.random(), 10)
            try await eventually("it has the state") { transport.taken(10) == ["1"] }
        }
    }

    /// States for other audiences are replaced by an update for everyone, and come back with it.
    @Test func `states for audiences come back when the update for everyone is cancelled`() async throws {
        let fixture = try await WorkerFixture.start()
        let transport = ScriptedTransport(byLabel: { token, label, _ in
            label == "2" ? WaitingTests.busy(retryAfter: 600) : .accepted
        })
        let channels = (0..<2).map { _ in ChannelID.random() }
        try await fixture.track(0..<1)
        var vip = TagChange()
        vip.add = ["device": ["vip"]]
        try await fixture.store.channels.tag(fixture.app, [channels[0]], vip)
        try await fixture.withWorker(transport) {
            try await fixture.swept(["all"])
            try await fixture.swept(["vip"], .tag("vip", group: "device"))
            let id = try await fixture.publish(alert: false, label: "2")
            try await fixture.swept(id)
            _ = try await fixture.store.pushes.cancel(fixture.app, id)
            for (number, channel) in channels.enumerated() { try await fixture.follow(channel, 10 + number) }
            try await eventually("both have their states: \(transport.taken)") {
                transport.taken(10) == ["vip"] && transport.taken(11) == ["all"]
            }
        }
    }

    /// What ended update 3 while phone 0 waited for it in the place of update 2.
    enum End: CaseIterable { case cancelled, refused, refusedThere, expired, endCancelled }

    @Test(arguments: End.allCases)
    func `a phone that waits gets the state that a cancelled or refused push superseded`(end: End) async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<2)
        let transport = ScriptedTransport(byLabel: { token, label, attempt in
            let waits = WorkerFixture.number(token) == 0
            return switch (label, waits) {
            case ("2", true): attempt == 1 ? WaitingTests.busy(retryAfter: 600) : .accepted
            case ("3", false): end == .refused ? Self.refusal : .accepted
            case ("3", true): end == .refusedThere ? Self.refusal : .accepted
            default: .accepted
            }
        })
        let ledgers = try await fixture.withWorker(transport) {
            try await fixture.swept(["1"])
            let second = try await fixture.publish(alert: false, label: "2")
            try await fixture.swept(second)
            let third = try await fixture.publish(
                alert: false, event: end == .endCancelled ? .end : .update, label: "3")
            try await fixture.swept(third)
            #expect(try await fixture.store.pushes.ledger(fixture.app, second)?.pending == 1, "it may come back")
            if end == .cancelled || end == .endCancelled {
                _ = try await fixture.store.pushes.cancel(fixture.app, third)
            } else if end == .expired {
                try await fixture.store.redis.send(
                    RedisCommand("HSET", fixture.record(third), "until", "1"))
            }
            try await fixture.retryNow()
            return [try await fixture.finished(second), try await fixture.finished(third)]
        }
        #expect(transport.taken(0) == ["1", "2"] && transport.taken(1).prefix(2) == ["1", "2"])
        #expect(ledgers[0].state == .done && ledgers[0].targets == 2 && ledgers[0].delivered == 2)
        #expect(ledgers[0].superseded == 0)
        #expect(ledgers[1].pending == 0 && ledgers[1].targets == 2)
    }

    /// One that reaches the phone supersedes what waited before it.
    @Test func `a phone that waits gets the newest alone`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<1)
        let transport = ScriptedTransport(byLabel: { _, label, attempt in
            label == "2" && attempt == 1 ? WaitingTests.busy(retryAfter: 600) : .accepted
        })
        let ledgers = try await fixture.withWorker(transport) {
            try await fixture.swept(["1"])
            var ids: [PushID] = []
            for label in ["2", "3", "4"] {
                ids.append(try await fixture.publish(alert: false, label: label))
                try await fixture.swept(ids.last!)
            }
            try await fixture.retryNow()
            var ledgers: [Ledger] = []
            for id in ids { ledgers.append(try await fixture.finished(id)) }
            return ledgers
        }
        #expect(transport.taken(0) == ["1", "4"])
        #expect(ledgers.map(\.superseded) == [1, 1, 0] && ledgers.map(\.delivered) == [0, 0, 1])
        #expect(ledgers.allSatisfy { $0.state == .done })
    }

    // MARK: The words of these stories

    private static let refusal = PushOutcome.rejected(Rejection(status: 400, reason: .known(.payloadEmpty)))

    private static func transport(_ fate: Fate) -> ScriptedTransport {
        ScriptedTransport(byLabel: { token, label, _ in
            let number = WorkerFixture.number(token)
            guard label == "2", number < 2 else { return .accepted }
            return switch fate {
            case .refused: refusal
            case .refusedAfterSome: number == 0 ? .accepted : refusal
            case .cancelledUndelivered, .endCancelled: WaitingTests.busy(retryAfter: 600)
            default: .accepted
            }
        })
    }

    /// Publishes the push that replaces state 1, and lets its fate come.
    private func second(
        _ fixture: WorkerFixture, _ transport: ScriptedTransport, _ fate: Fate
    ) async throws -> PushID {
        let isHeld = fate == .cancelledInItsSweep || fate == .refusedAfterSome
        if isHeld { transport.hold { WorkerFixture.number($0) < 2 } }
        let past = Int(nowMilliseconds() / 1_000) - 60
        let id = try await fixture.publish(
            alert: false, event: fate == .endCancelled ? .end : .update, expiry: fate == .expired ? past : nil,
            label: "2")
        if isHeld { await transport.holding(pages: 1) }
        switch fate {
        case .cancelledInItsSweep: _ = try await fixture.store.pushes.cancel(fixture.app, id)
        case .cancelledUndelivered, .endCancelled:
            try await fixture.swept(id)
            _ = try await fixture.store.pushes.cancel(fixture.app, id)
        default: break
        }
        if isHeld { transport.letGo() }
        _ = try await fixture.finished(id)
        try await fixture.swept(id)
        return id
    }
}

extension WorkerFixture {
    /// The key of a push's record.
    fileprivate func record(_ id: PushID) -> RedisKey { store.keys.push(store.keys.tag(app, name), id) }
}
