import APNsClient
import APNsWire
import Delivery
import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Fanout
@testable import Store
@testable import StoreDeliveries
@testable import StoreGround
@testable import StoreRegistry

/// Tests that cards are ended automatically, each at its time.
@Suite struct EndTimerTests {
    private static let hour = Duration.seconds(3_600)

    @Test func `only the old card is ended with the last state and the others go on`() async throws {
        let fixture = try await WorkerFixture.start()
        let transport = ScriptedTransport()
        for (number, minutes) in [61, 20, 0].enumerated() { try await fixture.card(number, minutes: minutes) }
        let state = #"{"score":"2:1","odds":1.50}"#
        let ledgers = try await fixture.withWorker(transport) {
            let update = try await fixture.tell(state, alert: true)
            return [try await fixture.finished(update)]
        }
        let end = try await fixture.withWorker(transport, endAfter: Self.hour) {
            await transport.answered(4)
            let end = try await fixture.finished(try await fixture.last())
            let next = try await fixture.finished(try await fixture.tell("{}"))
            #expect(next.delivered == 2 && next.targets == 2)
            return end
        }
        #expect(ledgers[0].delivered == 3)
        #expect(end.isAutomatic && end.event == .end && end.priority == .low && end.state == .done && end.expanded)
        #expect(end.targets == 1 && end.delivered == 1 && end.pending == 0 && end.errors.isEmpty)
        let sent = transport.pushes(to: Self.bytes(0))
        #expect(sent.count == 2)
        let text = String(decoding: sent[1].payload, as: UTF8.self)
        let digits = text.dropFirst(Payload.timestampOffset).prefix(10)
        #expect(text == #"{"aps":{"timestamp":\#(digits),"event":"end","content-state":\#(state)}}"#)
        #expect(sent[1].value("apns-priority") == "5" && sent[1].value("apns-expiration") != nil)
        #expect(transport.counts == [Self.bytes(0): 2, Self.bytes(1): 2, Self.bytes(2): 2])
        let info = try #require(try await fixture.store.names.info(fixture.app, fixture.name))
        #expect(info.tokens == 2 && !info.ended)
        let due = try #require(info.automaticEndAt)
        #expect(abs(due - nowMilliseconds() - 40 * 60_000) < 120_000, "the next card's")
    }

    @Test func `what was accepted before is shown and what came after is not`() async throws {
        let fixture = try await WorkerFixture.start()
        let transport = ScriptedTransport()
        for (number, minutes) in [61, 0].enumerated() { try await fixture.card(number, minutes: minutes) }
        // No worker runs yet.
        let before = try await fixture.tell(#"{"n":1}"#)
        let end = try await fixture.ended()
        let after = try await fixture.tell(#"{"n":2}"#)
        try await fixture.withWorker(transport) {
            for id in [before, end, after] {
                let ledger = try await fixture.finished(id)
                #expect(ledger.state == .done && ledger.pending == 0)
            }
        }
        #expect(transport.states(0) == [#"update {"n":1}"#, #"end {"n":1}"#])
        #expect(transport.states(1) == [#"update {"n":1}"#, #"update {"n":2}"#])
    }

    @Test func `the device keeps its state if some cards show another one`() async throws {
        let fixture = try await WorkerFixture.start()
        let transport = ScriptedTransport()
        for (number, minutes) in [61, 61, 0].enumerated() { try await fixture.card(number, minutes: minutes) }
        try await fixture.withWorker(transport) {
            _ = try await fixture.finished(try await fixture.tell(#"{"n":1}"#))
            _ = try await fixture.finished(try await fixture.tell(#"{"n":2}"#, .channel(fixture.channel(0))))
        }
        try await fixture.withWorker(transport, endAfter: Self.hour) {
            await transport.answered(6)
            let end = try await fixture.finished(try await fixture.last())
            #expect(end.isAutomatic && end.delivered == 2 && end.targets == 2)
        }
        #expect(transport.states(0) == [#"update {"n":1}"#, #"update {"n":2}"#, "end"])
        #expect(transport.states(1) == [#"update {"n":1}"#, "end"])
        #expect(transport.states(2) == [#"update {"n":1}"#])
    }

    @Test func `another worker continues for one that died with a claimed name`() async throws {
        let fixture = try await WorkerFixture.start()
        let transport = ScriptedTransport()
        for (number, minutes) in [61, 62, 0].enumerated() { try await fixture.card(number, minutes: minutes) }
        let rule = EndRule(after: Self.hour)
        let task = try #require(try await fixture.store.automaticEnds.take(fixture.app, rule, limit: 1).first)
        let key = fixture.store.keys.claimedEnds(fixture.app)
        _ = try await fixture.store.redis.send(RedisCommand("ZADD", key, "1", .string(task.member)))
        try await fixture.withWorker(transport, endAfter: Self.hour) {
            try await fixture.withWorker(transport, endAfter: Self.hour) {
                await transport.answered(2)
                let end = try await fixture.finished(AutomaticEnds.push(task))
                #expect(end.delivered == 2 && end.targets == 2)
            }
        }
        #expect(transport.states(0) == ["end"] && transport.states(1) == ["end"] && transport.states(2).isEmpty)
    }

    @Test func `a card that began while the end waited is not ended`() async throws {
        let fixture = try await WorkerFixture.start()
        let transport = ScriptedTransport()
        for (number, minutes) in [61, 62].enumerated() { try await fixture.card(number, minutes: minutes) }
        let end = try await fixture.ended()
        // APNs was busy, and then the worker died.
        let claim = try await fixture.claimed(end)
        var settlement = Settlement(range: claim.lease.bounds)
        settlement.targets = 2
        for number in 0..<2 {
            settlement.retry(try fixture.channel(number).stored, due: nowMilliseconds(), attempts: 1)
        }
        _ = try await fixture.store.sweeps.settle(claim.lease, for: .seconds(10), settlement)
        try await fixture.card(1, minutes: 0, token: 11)
        try await fixture.store.queue.schedule(.retries(fixture.app, fixture.name, .low), due: 0)
        let ledger = try await fixture.withWorker(transport) {
            let ledger = try await fixture.finished(end)
            _ = try await fixture.finished(try await fixture.tell("{}"))
            return ledger
        }
        #expect(ledger.delivered == 1 && ledger.skipped == 1 && ledger.targets == 2 && ledger.pending == 0)
        #expect(transport.states(0) == ["end"])
        #expect(transport.states(1).isEmpty && transport.states(11) == ["update {}"])
    }

    @Test func `a channel that registers during the sweep is no target unless its card is old`() async throws {
        let fixture = try await WorkerFixture.start()
        let transport = ScriptedTransport()
        try await fixture.card(0, minutes: 64)
        let end = try await fixture.ended()
        // A worker that died has begun the end. The catch-up has both channels.
        _ = try await fixture.claimed(end, lease: .zero)
        try await fixture.card(1, minutes: 0)
        try await fixture.card(2, minutes: 90)
        let ledger = try await fixture.withWorker(transport) {
            let ledger = try await fixture.finished(end)
            _ = try await fixture.finished(try await fixture.tell("{}"))
            return ledger
        }
        #expect(ledger.targets == 2 && ledger.delivered == 2)
        #expect(transport.states(0) == ["end"] && transport.states(2) == ["end"])
        #expect(transport.states(1) == ["update {}"])
    }

    @Test func `the end does not supersede an update that waits for its retry`() async throws {
        let fixture = try await WorkerFixture.start()
        let transport = ScriptedTransport()
        try await fixture.card(0, minutes: 64)
        let update = try await fixture.tell(#"{"n":1}"#)
        let claim = try await fixture.claimed(update)
        var settlement = Settlement(range: claim.lease.bounds)
        settlement.targets = 1
        settlement.retry(try fixture.channel(0).stored, due: nowMilliseconds() + 1_500, attempts: 1)
        _ = try await fixture.store.sweeps.settle(claim.lease, for: .seconds(10), settlement)
        try await fixture.store.queue.schedule(
            .retries(fixture.app, fixture.name, .high), due: nowMilliseconds() + 1_500)
        let end = try await fixture.ended()
        try await fixture.withWorker(transport) {
            for id in [update, end] {
                let ledger = try await fixture.finished(id)
                #expect(ledger.delivered == 1 && ledger.pending == 0)
            }
        }
        #expect(transport.states(0) == [#"update {"n":1}"#, #"end {"n":1}"#])
    }

    @Test func `all shards of a large name show the same`() async throws {
        let fixture = try await WorkerFixture.start()
        let transport = ScriptedTransport()
        let now = nowMilliseconds()
        let registrations = try (0..<6_000).map { number in
            Registration(
                channel: .random(), token: try #require(WorkerFixture.token(number)), registeredAt: now,
                startedAt: number.isMultiple(of: 3) ? now - 62 * 60_000 : now)
        }
        _ = try await fixture.store.registry.track(
            fixture.app, .activity(fixture.name), registrations, endAfter: Self.hour)
        try await fixture.withWorker(transport) {
            let update = try await fixture.finished(try await fixture.tell(#"{"n":1}"#))
            #expect(update.delivered == 6_000)
        }
        try await fixture.withWorker(transport, endAfter: Self.hour) {
            await transport.answered(8_000)
            let end = try await fixture.finished(try await fixture.last())
            #expect(end.isAutomatic && end.targets == 2_000 && end.delivered == 2_000 && end.pending == 0)
            let next = try await fixture.finished(try await fixture.tell("{}"))
            #expect(next.delivered == 4_000)
        }
        let ends = Set((0..<2_000).compactMap { transport.pushes(to: Self.bytes(3 * $0)).last?.payload })
        #expect(ends.count == 1)
        #expect(transport.states(0) == [#"update {"n":1}"#, #"end {"n":1}"#])
        #expect(transport.states(1) == [#"update {"n":1}"#, "update {}"])
    }

    @Test(.timeLimit(.minutes(5))) func `a late joiner does not wait for an end that is not for it`() async throws {
        let fixture = try await WorkerFixture.start()
        let transport = ScriptedTransport()
        try await fixture.withWorker(transport) {
            _ = try await fixture.finished(try await fixture.tell(#"{"n":1}"#))
        }
        try await fixture.card(0, minutes: 62)
        // The end waits in the queue, and no worker has begun it.
        _ = try await fixture.ended()
        let channel = try fixture.channel(1)
        let newcomer = Registration(
            channel: channel, token: try #require(WorkerFixture.token(1)), registeredAt: nowMilliseconds(),
            wantsState: true)
        _ = try await fixture.store.registry.track(fixture.app, .activity(fixture.name), [newcomer])
        let states = try await fixture.store.lateJoiners.states(fixture.app, fixture.name)
        #expect(states.notBegun.map(\.isAutomatic) == [true])
        try await fixture.withWorker(transport) {
            await transport.answered(2)
            _ = try await fixture.finished(try await fixture.last())
        }
        #expect(transport.states(0) == [#"end {"n":1}"#] && transport.states(1) == [#"update {"n":1}"#])
    }

    /// Cards begin one after the other, updates are published, and two workers end each card a second after its start.
    /// Each card is ended once, nothing follows its end, and none is forgotten.
    @Test(.timeLimit(.minutes(5))) func `every card is ended once however they come`() async throws {
        let fixture = try await WorkerFixture.start()
        let transport = ScriptedTransport(pause: .milliseconds(2)) { _, _, _ in .accepted }
        let second = Duration.seconds(1)
        let count = 400
        try await fixture.withWorker(transport, endAfter: second) {
            try await fixture.withWorker(transport, endAfter: second) {
                var updates: [PushID] = []
                for number in 0..<count {
                    let registration = Registration(
                        channel: .random(), token: try #require(WorkerFixture.token(number)),
                        registeredAt: nowMilliseconds())
                    _ = try await fixture.store.registry.track(
                        fixture.app, .activity(fixture.name), [registration], endAfter: second)
                    if number.isMultiple(of: 20) {
                        updates.append(try await fixture.tell(#"{"n":\#(number)}"#))
                        try await Task.sleep(for: .milliseconds(50))
                    }
                }
                try await eventually("all cards are ended") {
                    let ended = (0..<count).count { transport.states($0).last?.hasPrefix("end") == true }
                    let info = try await fixture.store.names.info(fixture.app, fixture.name)
                    return ended == count && info?.tokens == 0
                }
                for id in updates {
                    let ledger = try await fixture.finished(id)
                    #expect(ledger.pending == 0)
                }
            }
        }
        for number in 0..<count {
            let states = transport.states(number)
            #expect(states.count { $0.hasPrefix("end") } == 1 && states.last?.hasPrefix("end") == true, "\(states)")
            let numbers = states.compactMap { Int($0.filter(\.isNumber)) }
            #expect(numbers == numbers.sorted(), "\(states)")
        }
        // A worker that read the cards before they ended, and was slow since, leaves the name in the timer once more.
        // The next look finds no card and removes it.
        let rule = EndRule(after: second)
        try await eventually("nothing waits for an end") {
            for task in try await fixture.store.automaticEnds.take(fixture.app, rule, limit: 8) {
                let outcome = try await fixture.store.automaticEnds.run(
                    task, rule, payload: Payload(task.publish, timestamp: 1_795_000_000).bytes,
                    timestampOffset: Payload.timestampOffset)
                #expect(outcome.verdict == .nothing)
            }
            return try await fixture.store.names.info(fixture.app, fixture.name)?.automaticEndAt == nil
        }
        let info = try await fixture.store.names.info(fixture.app, fixture.name)
        #expect(info?.ended == false)
    }

    fileprivate static func bytes(_ number: Int) -> [UInt8] { WorkerFixture.token(number)?.bytes ?? [] }
}

extension ScriptedTransport {
    /// The event and state of each payload for one token.
    fileprivate func states(_ number: Int) -> [String] {
        pushes(to: EndTimerTests.bytes(number)).map { push in
            let text = String(decoding: push.payload, as: UTF8.self)
            let event = text.contains(#""event":"end""#) ? "end" : "update"
            guard let state = text.firstRange(of: #""content-state":"#)?.upperBound else { return event }
            return "\(event) \(text[state...].dropLast(2))"
        }
    }
}

extension WorkerFixture {
    fileprivate func channel(_ number: Int) throws -> ChannelID {
        try ChannelID("00000000-0000-4000-8000-0000000000\(10 + number)")
    }

    /// A card of channel `number` that started that many minutes ago.
    fileprivate func card(_ number: Int, minutes: Int, token: Int? = nil) async throws {
        let registration = Registration(
            channel: try channel(number), token: try #require(Self.token(token ?? number)),
            registeredAt: nowMilliseconds(), startedAt: nowMilliseconds() - Int64(minutes) * 60_000)
        let results = try await store.registry.track(app, .activity(name), [registration], endAfter: .seconds(3_600))
        #expect(results == [.stored])
    }

    /// An update as the gateway renders it.
    fileprivate func tell(_ state: String, _ audience: Audience = .all, alert: Bool = false) async throws -> PushID {
        let publish = Publish(
            name: name, event: .update, audience: audience, contentState: RawJSON(checked: state),
            alert: alert ? RawJSON(checked: #"{"title":"Goal","body":"2:1"}"#) : nil)
        let acceptance = try await store.pushes.accept(
            app, publish, id: .random(), payload: Payload(publish, timestamp: 1_795_000_000).bytes,
            timestampOffset: Payload.timestampOffset)
        guard case .accepted(let id, _, _) = acceptance else { throw WorkerFixtureError(description: "\(acceptance)") }
        return id
    }

    /// Accepts the automatic end of the cards that are due now.
    fileprivate func ended() async throws -> PushID {
        let rule = EndRule(after: .seconds(3_600))
        let task = try #require(try await store.automaticEnds.take(app, rule, limit: 1).first)
        let outcome = try await store.automaticEnds.run(
            task, rule, payload: Payload(task.publish, timestamp: 1_795_000_000).bytes,
            timestampOffset: Payload.timestampOffset)
        #expect(outcome.verdict == .ended)
        return outcome.push
    }

    fileprivate func last() async throws -> PushID {
        try #require(try await store.names.info(app, name)?.lastPushID)
    }
}
