import Answers
import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store
@testable import StoreDeliveries

/// A publish with a condition (`options.after`) is accepted only behind the push that its publisher has seen.
@Suite struct ConditionTests {
    @Test func `a push goes behind the newest one, and behind no other`() async throws {
        let fixture = try await PushFixture.start()
        #expect(try await fixture.publish(after: .push(.random())) == .refused(.conflict(newest: nil)))
        let first = try await fixture.id(fixture.publish(after: .nothing))
        #expect(try await fixture.publish(after: .nothing) == .refused(.conflict(newest: first)))
        let second = try await fixture.id(fixture.publish(after: .push(first)))
        #expect(try await fixture.publish(after: .push(first)) == .refused(.conflict(newest: second)))
        let third = try await fixture.id(fixture.publish(after: .any))
        #expect(try await fixture.publish(after: .push(second)) == .refused(.conflict(newest: third)))
        // A push that is refused takes no number and is in no history.
        #expect(try await fixture.sequence() == 3)
        let history = try await fixture.store.pushes.history(
            fixture.app, of: fixture.match, PushFilter(), after: nil, limit: 10)
        #expect(history.pushes.map(\.id) == [third, second, first])
    }

    /// In each form that a push has: alone in its name, on its way, kept, and with keys of its own.
    @Test(arguments: ["lone", "sent", "kept", "own", "swept"])
    func `the newest push counts in whichever form it is`(form: String) async throws {
        let fixture = try await PushFixture.start()
        try await fixture.track("match-1", count: 1)
        let id =
            if form == "own" || form == "swept" {
                try await fixture.withOwnKeys("match-1") { try await fixture.accepted("match-1") }
            } else {
                try await fixture.accepted("match-1")
            }
        if form == "sent" || form == "kept" || form == "swept" {
            let claim = try await fixture.claimed("match-1", id)
            if form != "sent" { _ = try await fixture.deliver(claim, targets: 1) }
        }
        #expect(try await fixture.newest() == id)
        #expect(try await fixture.publish(after: .push(.random())) == .refused(.conflict(newest: id)))
        _ = try await fixture.id(fixture.publish(after: .push(id)))
    }

    @Test func `a push for a part counts, a start and an end too`() async throws {
        let fixture = try await PushFixture.start()
        try await fixture.track("match-1", count: 1)
        for (event, audience) in [
            (ActivityEvent.update, Audience.tag("gold", group: "device")), (.update, .channel(.random())),
            (.start, .namedUser("ann")), (.end, .all),
        ] {
            let before = try await fixture.newest()
            let id = try await fixture.id(fixture.publish(event: event, audience: audience))
            #expect(try await fixture.newest() == id)
            #expect(
                try await fixture.publish(after: AfterPush(newest: before)) == .refused(.conflict(newest: id)))
        }
    }

    @Test func `a test on one device does not count, and is no content state`() async throws {
        let fixture = try await PushFixture.start()
        let channel = ChannelID.random()
        let first = try await fixture.id(fixture.publish())
        let test = try await fixture.id(fixture.publish(audience: .channel(channel), trace: channel))
        #expect(try await fixture.ledger(test).answer.test == true)
        #expect(try await fixture.ledger(first).answer.test == nil)
        let present = try await fixture.store.pushes.present(fixture.app, fixture.match)
        #expect(present.newest?.ledger.id == first && present.state?.ledger.id == first)
        let second = try await fixture.id(fixture.publish(after: .push(first)))
        // A push for everyone that traces one channel is no test.
        let traced = try await fixture.id(fixture.publish(after: .push(second), trace: channel))
        #expect(try await fixture.newest() == traced)
        #expect(try await fixture.publish(after: .push(second)) == .refused(.conflict(newest: traced)))
    }

    @Test(arguments: ["cancelled", "refused", "expired"])
    func `if nobody gets the newest push, the one before is the newest again`(fate: String) async throws {
        let fixture = try await PushFixture.start()
        try await fixture.track("match-1", count: 1)
        let first = try await fixture.id(fixture.publish(alert: true))
        _ = try await fixture.deliver(try await fixture.claimed("match-1", first), targets: 1)
        let second = try await fixture.id(fixture.publish(after: .push(first), alert: true))
        switch fate {
        case "cancelled": _ = try await fixture.store.pushes.cancel(fixture.app, second)
        case "refused": try await fixture.end(second) { $0.stop = "PayloadEmpty" }
        default:
            try await fixture.end(second) {
                $0.targets = 1
                $0.count(.expired)
            }
        }
        #expect(try await fixture.newest() == first)
        #expect(try await fixture.publish(after: .push(second)) == .refused(.conflict(newest: first)))
        _ = try await fixture.id(fixture.publish(after: .push(first)))
    }

    @Test func `a push that was cancelled once somebody had it is on cards, so it counts`() async throws {
        let fixture = try await PushFixture.start()
        try await fixture.track("match-1", count: 2)
        let first = try await fixture.id(fixture.publish(alert: true))
        _ = try await fixture.deliver(try await fixture.claimed("match-1", first), targets: 2)
        let second = try await fixture.id(fixture.publish(alert: true))
        let claim = try await fixture.claimed("match-1", second)
        _ = try await fixture.store.pushes.cancel(fixture.app, second)
        #expect(try await fixture.newest() == first)
        var settlement = Settlement(range: claim.lease.bounds)
        settlement.targets = 1
        settlement.count(.delivered)
        settlement.abandonsRest = true
        _ = try await fixture.settle(claim, settlement)
        #expect(try await fixture.newest() == second)
        #expect(try await fixture.publish(after: .push(first)) == .refused(.conflict(newest: second)))
    }

    @Test func `a superseded push is the newest again if the newer one is cancelled`() async throws {
        let fixture = try await PushFixture.start()
        let pushes = [try await fixture.push(), try await fixture.push(), try await fixture.push()]
        // The second one is unwanted although it was superseded, so the first comes back.
        for push in [1, 2] { _ = try await fixture.store.pushes.cancel(fixture.app, pushes[push]) }
        #expect(try await fixture.ledger(pushes[0]).state == .queued)
        #expect(try await fixture.newest() == pushes[0])
        _ = try await fixture.id(fixture.publish(after: .push(pushes[0])))
    }

    @Test func `an automatic end does not count`() async throws {
        let fixture = try await PushFixture.start()
        let first = try await fixture.id(fixture.publish())
        let end = Publish(name: fixture.match, event: .end, audience: .all)
        _ = try await fixture.store.pushes.accept(
            fixture.app, end, id: .random(), payload: Array(#"{"aps":{"timestamp":0000000000}}"#.utf8),
            timestampOffset: 20, cutoff: 1_795_000_000_000)
        #expect(try await fixture.newest() == first)
        _ = try await fixture.id(fixture.publish(after: .push(first)))
    }

    /// A gateway died behind the commit, or its answer was lost.
    @Test func `a repetition gets the first answer, whatever came since`() async throws {
        let fixture = try await PushFixture.start()
        let first = try await fixture.id(fixture.publish())
        let id = PushID.ordered(at: 1_795_000_000_000, index: 1)
        let accepted = try await fixture.publish(after: .push(first), id: id)
        #expect(try await fixture.publish(after: .push(first), id: id) == accepted)
        try await fixture.track("match-1", count: 1)
        _ = try await fixture.deliver(try await fixture.claimed("match-1", id), targets: 1)
        let last = try await fixture.id(fixture.publish())
        #expect(try await fixture.publish(after: .push(first), id: id) == accepted)
        #expect(try await fixture.newest() == last)
        // A push that was refused is judged anew.
        let refused = PushID.ordered(at: 1_795_000_000_000, index: 2)
        #expect(try await fixture.publish(after: .push(id), id: refused) == .refused(.conflict(newest: last)))
        _ = try await fixture.store.pushes.cancel(fixture.app, last)
        #expect(try await fixture.id(fixture.publish(after: .push(id), id: refused)) == refused)
    }

    @Test func `of many publishers who saw the same push exactly one is accepted, round after round`() async throws {
        let fixture = try await PushFixture.start()
        var newest: PushID?
        for round in 0..<100 {
            let seen = AfterPush(newest: newest)
            let answers = try await withThrowingTaskGroup(of: Acceptance.self) { group in
                for publisher in 0..<4 {
                    let id = PushID.ordered(at: 1_795_000_000_000 + Int64(round), index: publisher)
                    group.addTask { try await fixture.publish(after: seen, alert: round % 3 == 0, id: id) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let winners = answers.compactMap { answer in
                if case .accepted(let id, _, _) = answer { id } else { nil }
            }
            #expect(winners.count == 1, "round \(round): \(answers)")
            newest = winners.first
            #expect(answers.count { $0 == .refused(.conflict(newest: newest)) } == 3)
        }
        #expect(try await fixture.sequence() == 100)
    }

    @Test func `a name whose pushes are forgotten, or whose last hundred do not count, has none`() async throws {
        let fixture = try await PushFixture.start()
        let channel = ChannelID.random()
        func tests(_ count: Int) async throws {
            for _ in 0..<count { _ = try await fixture.publish(audience: .channel(channel), trace: channel) }
        }
        let first = try await fixture.id(fixture.publish())
        try await tests(99)
        #expect(try await fixture.newest() == first)
        try await tests(1)
        #expect(try await fixture.newest() == nil)
        let second = try await fixture.id(fixture.publish(after: .nothing))
        try await fixture.unpack("match-1")
        let tag = fixture.store.keys.tag(fixture.app, fixture.match)
        try await fixture.store.redis.send(RedisCommand("DEL", fixture.store.keys.push(tag, second)))
        #expect(try await fixture.newest() == nil)
        _ = try await fixture.id(fixture.publish(after: .nothing))
    }

    @Test func `a refused push costs neither keys nor a change of the name`() async throws {
        let fixture = try await PushFixture.start()
        try await fixture.track("match-1", count: 1)
        let first = try await fixture.accepted("match-1")
        _ = try await fixture.deliver(try await fixture.claimed("match-1", first), targets: 1)
        let name = RedisCommand("HGETALL", try fixture.key(Keyspace.name))
        let before = try await fixture.store.redis.run(name).byteStrings()
        #expect(try await fixture.publish(after: .nothing) == .refused(.conflict(newest: first)))
        #expect(try await fixture.store.redis.run(name).byteStrings() == before)
    }
}

extension PushFixture {
    fileprivate var match: ActivityName { try! ActivityName("match-1") }

    /// Publishes to `match-1`.
    fileprivate func publish(
        after: AfterPush = .any, event: ActivityEvent = .update, audience: Audience = .all, alert: Bool = false,
        trace: ChannelID? = nil, id: PushID? = nil
    ) async throws -> Acceptance {
        var publish = Publish(
            name: match, event: event, audience: audience, contentState: RawJSON(checked: "{}"),
            alert: alert ? RawJSON(checked: #"{"title":"t"}"#) : nil)
        (publish.options.after, publish.options.trace) = (after, trace)
        return try await store.pushes.accept(
            app, publish, id: id ?? .ordered(at: 1_795_000_000_000, index: 0),
            payload: Array(#"{"aps":{"timestamp":0000000000}}"#.utf8), timestampOffset: 20, isRepeatable: id != nil,
            now: 1_795_000_000_000)
    }

    fileprivate func id(_ acceptance: Acceptance) throws -> PushID {
        guard case .accepted(let id, _, _) = acceptance else { throw Unexpected(what: "\(acceptance)") }
        return id
    }

    /// The newest push as callers read it, which has to be the script's.
    fileprivate func newest() async throws -> PushID? {
        let newest = try await store.pushes.present(app, match).newest?.ledger.id
        #expect(try await publish(after: .push(.random())) == .refused(.conflict(newest: newest)))
        return newest
    }

    fileprivate func sequence() async throws -> Int? {
        Int(try await store.redis.send(RedisCommand("HGET", key(Keyspace.name), "seq")).string())
    }

    /// Ends the sweep of a push.
    fileprivate func end(_ push: PushID, _ change: (inout Settlement) -> Void) async throws {
        let claim = try await claimed("match-1", push)
        var settlement = Settlement(range: claim.lease.bounds)
        change(&settlement)
        _ = try await settle(claim, settlement)
    }
}
