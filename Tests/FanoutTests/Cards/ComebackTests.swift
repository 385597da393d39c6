import APNsWire
import Delivery
import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Fanout
@testable import Store
@testable import StoreDeliveries

/// A push that is withdrawn before anybody has it leaves what it superseded before that began. The cards that began in
/// its sweep get the state before it.
@Suite struct ComebackTests {
    /// What ended update 3, which superseded update 2 before that began.
    enum End: CaseIterable { case refused, cancelled, cancelledAfterSome }

    @Test(arguments: End.allCases)
    func `an update comes back when the one that superseded it is withdrawn`(end: End) async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<2)
        let transport = ScriptedTransport(byLabel: { token, label, _ in
            guard label == "3" else { return .accepted }
            if end == .refused { return Self.refusal }
            let hasIt = end == .cancelledAfterSome && WorkerFixture.number(token) != 1
            return hasIt ? .accepted : WaitingTests.busy(retryAfter: 600)
        })
        let ledgers = try await fixture.withWorker(transport) {
            let (second, third) = try await superseded(fixture, transport)
            transport.letGo()
            try await fixture.swept(third)
            if end != .refused { _ = try await fixture.store.pushes.cancel(fixture.app, third) }
            try await fixture.follow(.random(), 10)
            if end == .cancelled {
                try await fixture.swept(second)
                try await fixture.retryNow()
            }
            let expected = end == .cancelledAfterSome ? "3" : "2"
            try await eventually("the newcomer has \(expected)") { transport.taken(10) == [expected] }
            try await fixture.nobodyIsLate()
            return [try await fixture.finished(second), try await fixture.finished(third)]
        }
        if end == .cancelledAfterSome {
            #expect(transport.taken == [0: ["1", "3"], 1: ["1"], 10: ["3"]], "no card goes back")
            #expect(ledgers[0].state == .superseded && ledgers[0].supersededBy == ledgers[1].id)
            return
        }
        #expect(transport.taken == [0: ["1", "2"], 1: ["1", "2"], 10: ["2"]])
        #expect(ledgers[0].state == .done && ledgers[0].supersededBy == nil, "\(ledgers[0])")
        #expect(ledgers[0].targets == 3 && ledgers[0].delivered == 3 && ledgers[0].superseded == 0, "\(ledgers[0])")
        #expect(ledgers[1].pending == 0 && ledgers[1].delivered == 0, "\(ledgers[1])")
    }

    /// Update 3 is cancelled while update 4 waits behind it at the phone.
    @Test(arguments: [false, true])
    func `a newer update goes out in its place, unless that one is refused`(isRefused: Bool) async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<1)
        let transport = ScriptedTransport(byLabel: { _, label, _ in
            switch label {
            case "3": WaitingTests.busy(retryAfter: 600)
            case "4": isRefused ? Self.refusal : .accepted
            default: .accepted
            }
        })
        try await fixture.withWorker(transport) {
            let (second, third) = try await superseded(fixture, transport)
            transport.letGo()
            try await fixture.swept(third)
            let fourth = try await fixture.publish(alert: false, label: "4")
            try await fixture.swept(fourth)
            _ = try await fixture.store.pushes.cancel(fixture.app, third)
            try await fixture.retryNow()
            _ = try await fixture.finished(fourth)
            try await eventually("update 2 is final") {
                let ledger = try await fixture.store.pushes.ledger(fixture.app, second)
                return ledger?.state == (isRefused ? .done : .superseded)
            }
        }
        #expect(transport.taken == [0: ["1", isRefused ? "2" : "4"]])
    }

    /// What became of update 2, in whose sweep cards began.
    enum Fate: CaseIterable { case delivered, cancelledInItsSweep, cancelledUndelivered, refused, expired }

    @Test(arguments: Fate.allCases)
    func `a card that began in a sweep has the state that stands`(fate: Fate) async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<2)
        let transport = ScriptedTransport(byLabel: { _, label, _ in
            if label != "2" || fate == .delivered || fate == .cancelledInItsSweep { return .accepted }
            return fate == .refused ? Self.refusal : WaitingTests.busy(retryAfter: 600)
        })
        let second = try await fixture.withWorker(transport) {
            try await fixture.swept(["start", "1"])
            let start = try await fixture.sequence(try #require(try await fixture.lastPush())) - 1
            let started = ChannelID.random()
            try await fixture.expect([started], startedBy: start)
            transport.hold()
            let second = try await fixture.publish(alert: false, label: "2")
            await transport.holding(pages: 1)
            try await fixture.follow(.random(), 8, wants: false)
            try await fixture.follow(.random(), 10)
            try await fixture.follow(started, 11, wants: false)
            switch fate {
            case .cancelledInItsSweep, .cancelledUndelivered:
                _ = try await fixture.store.pushes.cancel(fixture.app, second)
            case .expired:
                let record = fixture.store.keys.push(fixture.store.keys.tag(fixture.app, fixture.name), second)
                try await fixture.store.redis.send(RedisCommand("HSET", record, "until", "1"))
            default: break
            }
            transport.letGo()
            try await fixture.swept(second)
            if fate == .expired { try await fixture.retryNow() }
            try await eventually("both have a state: \(transport.taken)") {
                !transport.taken(10).isEmpty && !transport.taken(11).isEmpty
            }
            try await fixture.nobodyIsLate()
            try await eventually("all are counted") {
                let ledger = try await fixture.store.pushes.ledger(fixture.app, second)
                let delivered = fate == .delivered ? 5 : fate == .cancelledInItsSweep ? 4 : 0
                return ledger?.pending == 0 && ledger?.delivered == delivered
            }
            return try await fixture.finished(second)
        }
        let standing = fate == .delivered || fate == .cancelledInItsSweep ? "2" : "1"
        #expect(transport.taken(10) == [standing] && transport.taken(11) == [standing])
        #expect(transport.taken(8) == (fate == .delivered ? ["2"] : []), "it did not ask")
        #expect(second.state.isFinal && second.failed >= 0 && second.skipped >= 0, "\(second)")
    }

    /// The card waits for an update that nobody has. Then that update is cancelled.
    @Test(arguments: [false, true])
    func `a card that waits for a cancelled update gets the one before it`(beganInItsSweep: Bool) async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<1)
        let transport = ScriptedTransport(byLabel: { _, label, _ in
            label == "2" ? WaitingTests.busy(retryAfter: 600) : .accepted
        })
        let ledgers = try await fixture.withWorker(transport) {
            try await fixture.swept(["1"])
            let first = try #require(try await fixture.lastPush())
            if beganInItsSweep { transport.hold() }
            let second = try await fixture.publish(alert: false, label: "2")
            if beganInItsSweep {
                await transport.holding(pages: 1)
                try await fixture.follow(.random(), 10)
                transport.letGo()
            }
            try await fixture.swept(second)
            if !beganInItsSweep { try await fixture.follow(.random(), 10) }
            try await fixture.nobodyIsLate()
            try await eventually("it was tried") { transport.requests.contains { $0.token == [0, 0, 0, 10] } }
            try await eventually("it waits for both") {
                try await fixture.store.pushes.ledger(fixture.app, first)?.pending == 1
            }
            _ = try await fixture.store.pushes.cancel(fixture.app, second)
            try await fixture.retryNow()
            return [try await fixture.finished(first), try await fixture.finished(second)]
        }
        #expect(transport.taken == [0: ["1"], 10: ["1"]])
        #expect(ledgers[0].state == .done && ledgers[0].delivered == 2 && ledgers[0].targets == 2, "\(ledgers[0])")
        #expect(ledgers[1].state == .cancelled && ledgers[1].skipped == 2 && ledgers[1].pending == 0, "\(ledgers[1])")
    }

    // MARK: The words of these stories

    private static let refusal = PushOutcome.rejected(Rejection(status: 400, reason: .known(.payloadEmpty)))

    /// Publishes updates 2 and 3 while the sweep of update 1 is held, so that 3 supersedes 2 before either begins.
    private func superseded(
        _ fixture: WorkerFixture, _ transport: ScriptedTransport
    ) async throws -> (second: PushID, third: PushID) {
        transport.hold()
        _ = try await fixture.publish(alert: false, label: "1")
        await transport.holding(pages: 1)
        let second = try await fixture.publish(alert: false, label: "2")
        let third = try await fixture.publish(alert: false, label: "3")
        #expect(try await fixture.store.pushes.ledger(fixture.app, second)?.supersededBy == third)
        return (second, third)
    }
}
