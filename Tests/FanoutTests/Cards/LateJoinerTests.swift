import APNsWire
import Delivery
import LiveActivity
import Redis
import Synchronization
import TestSupport
import Testing

@testable import Fanout
@testable import Store
@testable import StoreDeliveries

/// Tests late joiners that want the current state.
@Suite struct LateJoinerTests {
    @Test func `a channel gets the newest state once if it asks, and nothing if it does not`() async throws {
        let fixture = try await WorkerFixture.start()
        let transport = ScriptedTransport()
        let (asking, silent) = (ChannelID.random(), ChannelID.random())
        let ledgers = try await fixture.withWorker(transport) {
            try await fixture.swept(["old", "new"])
            let new = try #require(try await fixture.lastPush())
            try await fixture.follow(silent, 2, wants: false)
            try await fixture.follow(asking, 1)
            await transport.answered(1)
            _ = try await fixture.finished(new)
            // The same token again, or a rotation, does not begin anything.
            try await fixture.follow(asking, 1)
            try await fixture.follow(asking, 101)
            try await fixture.nobodyIsLate()
            let next = try await fixture.finished(try await fixture.publish(alert: false, label: "next"))
            return [try await fixture.finished(new), next]
        }
        #expect(transport.taken == [1: ["new"], 101: ["next"], 2: ["next"]])
        #expect(ledgers[0].late == 1 && ledgers[0].targets == 1 && ledgers[0].delivered == 1)
        #expect(ledgers[1].late == 0 && ledgers[1].targets == 2)
    }

    @Test func `another activity of the channel is a new card`() async throws {
        let fixture = try await WorkerFixture.start()
        let transport = ScriptedTransport()
        let channel = ChannelID.random()
        try await fixture.withWorker(transport) {
            try await fixture.swept(["state"])
            try await fixture.follow(channel, 1, activity: "first")
            await transport.answered(1)
            // Wait for the settlement, because a rotation before it would be sent the state too.
            _ = try await fixture.finished(try #require(try await fixture.lastPush()))
            try await fixture.follow(channel, 2, activity: "first")
            try await fixture.nobodyIsLate()
            try await fixture.follow(channel, 3, activity: "second")
            await transport.answered(2)
            let state = try #require(try await fixture.lastPush())
            #expect(try await fixture.finished(state).late == 2)
        }
        #expect(transport.taken == [1: ["state"], 3: ["state"]])
    }

    @Test func `everybody gets the newest of those that are for them`() async throws {
        let fixture = try await WorkerFixture.start()
        let transport = ScriptedTransport()
        let channels = (0..<3).map { _ in ChannelID.random() }
        var vip = TagChange()
        vip.add = ["device": ["vip"]]
        try await fixture.store.channels.tag(fixture.app, [channels[0]], vip)
        try await fixture.withWorker(transport) {
            try await fixture.swept(["for others"], .channel(.random()))
            try await fixture.follow(channels[1], 10)
            try await fixture.swept(["all"])
            try await fixture.swept(["vip"], .tag("vip", group: "device"))
            for number in 0..<20 { try await fixture.swept(["other \(number)"], .channel(.random())) }
            try await fixture.swept(["vip, newer"], .tag("vip", group: "device"))
            try await fixture.follow(channels[0], 0)
            try await fixture.follow(channels[2], 2)
            await transport.answered(3)
        }
        #expect(transport.taken == [0: ["vip, newer"], 2: ["all"], 10: ["all"]], "10 got it by the sweep")
    }

    @Test func `nothing goes out after an end`() async throws {
        let fixture = try await WorkerFixture.start()
        let transport = ScriptedTransport()
        let channels = (0..<3).map { _ in ChannelID.random() }
        try await fixture.withWorker(transport) {
            try await fixture.swept(["state"])
            // An end for some channels ends the name for these, whether they follow yet or not.
            _ = try await fixture.finished(
                try await fixture.publish(.channel(channels[0]), event: .end, label: "end of one"))
            try await fixture.follow(channels[0], 0)
            try await fixture.follow(channels[1], 1)
            await transport.answered(1)
            _ = try await fixture.finished(try await fixture.publish(event: .end, label: "end"))
            try await fixture.follow(channels[2], 2)
            try await fixture.nobodyIsLate()
            _ = try await fixture.finished(try await fixture.publish(alert: false, label: "again"))
        }
        #expect(transport.taken == [0: ["end"], 1: ["state", "end"], 2: ["again"]])
    }

    @Test func `a channel that joins in the middle of a sweep gets one state`() async throws {
        let fixture = try await WorkerFixture.start()
        let transport = ScriptedTransport()
        let holder = try await fixture.track(0..<1)
        let (first, second) = (ChannelID.random(), ChannelID.random())
        try await fixture.withWorker(transport) {
            try await fixture.swept(["state"])
            transport.hold()
            let all = try await fixture.publish(alert: false, label: "for all")
            await transport.holding(pages: 1)
            try await fixture.follow(first, 1)
            transport.letGo()
            _ = try await fixture.finished(all)
            try await fixture.nobodyIsLate()
            // A push that is not for them is being swept. They need not wait for its end.
            transport.hold { $0 == [0, 0, 0, 0] }
            let one = try await fixture.publish(.channel(holder[0]), label: "for one")
            await transport.holding(pages: 1)
            try await fixture.follow(second, 2)
            await transport.answered(4)
            transport.letGo()
            _ = try await fixture.finished(one)
        }
        #expect(transport.taken == [0: ["state", "for all", "for one"], 1: ["for all"], 2: ["for all"]])
    }

    @Test(arguments: [false, true]) func `a late joiner waits for an unswept push`(isCancelled: Bool) async throws {
        let fixture = try await WorkerFixture.start()
        let transport = ScriptedTransport()
        try await fixture.withWorker(transport) { try await fixture.swept(["state"]) }
        let waiting = try await fixture.publish(alert: false, label: "newer")
        let channel = ChannelID.random()
        try await fixture.follow(channel, 1)
        if isCancelled { _ = try await fixture.store.pushes.cancel(fixture.app, waiting) }
        try await fixture.withWorker(transport) {
            await transport.answered(1)
            try await fixture.nobodyIsLate()
            _ = try await fixture.finished(try await fixture.publish(alert: false, label: "last"))
        }
        #expect(transport.taken == [1: [isCancelled ? "state" : "newer", "last"]])
    }

    @Test func `what is cancelled before its sweep leaves the state before it`() async throws {
        let fixture = try await WorkerFixture.start()
        let transport = ScriptedTransport()
        let holder = try await fixture.track(0..<1)
        try await fixture.withWorker(transport) {
            try await fixture.swept(["state"])
            transport.hold { $0 == [0, 0, 0, 0] }
            let one = try await fixture.publish(.channel(holder[0]), label: "for one")
            await transport.holding(pages: 1)
            let waiting = try await fixture.publish(alert: false, label: "cancelled")
            try await fixture.follow(.random(), 1)
            // Wait until a worker has looked at the name and will look again.
            try await eventually("the name waits for its time") {
                try await fixture.store.queue.depth([fixture.app])[0].retriesDue > 0
            }
            let left = try await fixture.lateJoiners().count
            try #require(left == 1)
            _ = try await fixture.store.pushes.cancel(fixture.app, waiting)
            await transport.answered(2)
            transport.letGo()
            _ = try await fixture.finished(one)
        }
        #expect(transport.taken == [0: ["state", "for one"], 1: ["state"]])
    }

    @Test func `the alert is not repeated and the others keep it`() async throws {
        let fixture = try await WorkerFixture.start()
        let transport = ScriptedTransport { _, attempt in attempt == 1 ? WaitingTests.busy() : .accepted }
        try await fixture.track(0..<1)
        let publish = Publish(
            name: fixture.name, event: .update, audience: .all,
            contentState: RawJSON(checked: #"{"label":"goal","alert":{"title":"\",\"alert\":{"}}"#),
            relevanceScore: RawJSON(checked: "7"), alert: RawJSON(checked: #"{"title":"Goal","body":"2:1"}"#))
        let payload = Payload(publish, timestamp: 1_795_000_000).bytes
        let id = PushID.random()
        let ledger = try await fixture.withWorker(transport) {
            _ = try await fixture.store.pushes.accept(
                fixture.app, publish, id: id, payload: payload, timestampOffset: Payload.timestampOffset,
                now: nowMilliseconds())
            _ = try await fixture.finished(id)
            try await fixture.follow(.random(), 1)
            await transport.answered(4)
            return try await fixture.finished(id)
        }
        #expect(ledger.targets == 2 && ledger.delivered == 2 && ledger.late == 1)
        let alert = #","alert":{"title":"Goal","body":"2:1"}"#
        for (number, rings) in [(0, true), (1, false)] {
            let token = try #require(WorkerFixture.token(number)).bytes
            let sent = transport.pushes(to: token).map { String(decoding: $0.payload, as: UTF8.self) }
            #expect(sent.count == 2 && sent[0] == sent[1])
            #expect(sent.allSatisfy { $0.contains(alert) == rings && $0.contains(#""relevance-score":7"#) }, "\(sent)")
            #expect(sent.allSatisfy { $0.contains(#""alert":{"title":"\",\"alert\":{"}}"#) && $0.hasSuffix("}}") })
        }
    }

    /// A start without an alert is refused by APNs.
    @Test func `a start keeps its alert, also in a late joiner's retry queue`() async throws {
        let fixture = try await WorkerFixture.start()
        for event in [ActivityEvent.start, .update] {
            let publish = Publish(
                name: fixture.name, event: event, audience: .all, contentState: RawJSON(checked: "{}"),
                alert: RawJSON(checked: #"{"title":"Goal"}"#), attributesType: "Match",
                attributes: RawJSON(checked: "{}"))
            let id = PushID.random()
            _ = try await fixture.store.pushes.accept(
                fixture.app, publish, id: id, payload: Payload(publish, timestamp: 1_795_000_000).bytes,
                timestampOffset: Payload.timestampOffset, now: nowMilliseconds())
            let record = try #require(try await fixture.store.sweeps.records(fixture.app, fixture.name, [id])[id])
            let sender = APNsSender(
                bundleID: "com.example.shop", transport: ScriptedTransport(), otherTransport: nil)
            let push = sender.render(record, fixture.name, for: .lateJoiners)
            #expect(String(decoding: push.payload, as: UTF8.self).contains("Goal") == (event == .start))
        }
    }

    @Test func `a worker that dies between the steps leaves no channel out`() async throws {
        let fixture = try await WorkerFixture.start()
        let transport = ScriptedTransport()
        try await fixture.withWorker(transport) { try await fixture.swept(["state"]) }
        let push = try #require(try await fixture.lastPush())
        let channels = (0..<2).map { _ in ChannelID.random() }
        try await fixture.follow(channels[0], 0)
        // Act as a worker that dies after it queued the push for the channel, and before it woke a worker.
        let late = fixture.store.lateJoiners
        let states = try await late.states(fixture.app, fixture.name)
        let decisions = try await fixture.lateJoiners().map { ($0, LateDecision.put(push)) }
        for put in [1, 0] {
            let settled = try await late.settle(fixture.app, fixture.name, states, decisions)
            #expect(settled?.put == put && settled?.left == 0, "repeated it does nothing")
        }
        #expect(try await fixture.store.pushes.ledger(fixture.app, push)?.pending == 1)
        try await fixture.withWorker(transport) {
            await transport.answered(1)
            _ = try await fixture.finished(push)
        }
        // The decision was made before another push began, so it has no effect.
        try await fixture.follow(channels[1], 1)
        let outdated = try await late.states(fixture.app, fixture.name)
        let followers = try await fixture.lateJoiners()
        _ = try await fixture.publish(alert: false, label: "newer")
        _ = try await fixture.store.sweeps.begin(
            fixture.app, fixture.name, expecting: push, owner: "dead", lease: .zero)
        let settled = try await late.settle(
            fixture.app, fixture.name, outdated, followers.map { ($0, .put(push)) })
        #expect(settled == nil)
        try await fixture.withWorker(transport) {
            await transport.answered(3)
            try await fixture.nobodyIsLate()
        }
        #expect(transport.taken == [0: ["state", "newer"], 1: ["newer"]])
    }

    /// Late joiners beside pushes for all and for some, with two workers and answers that ask to retry later. Each
    /// channel gets every push at most once and in order, and has the last state at the end.
    @Test(.timeLimit(.minutes(5))) func `newcomers beside pushes take each once and in order`() async throws {
        let fixture = try await WorkerFixture.start()
        // No phone is busy for each push: its attempts would be spent, because a push inherits those before it.
        let transport = ScriptedTransport(pause: .milliseconds(4)) { token, label, attempt in
            (WorkerFixture.number(token) &+ (Int(label) ?? 0) &+ attempt) % 5 == 0 ? WaitingTests.busy() : .accepted
        }
        let channels = (0..<150).map { _ in ChannelID.random() }
        var vip = TagChange()
        vip.add = ["device": ["vip"]]
        let vips = channels.indices.filter { $0.isMultiple(of: 3) }
        try await fixture.store.channels.tag(fixture.app, vips.map { channels[$0] }, vip)
        let ledgers = try await fixture.withWorker(transport) {
            try await fixture.withWorker(transport) {
                try await fixture.swept(["0"])
                async let followed: Void = {
                    for (number, channel) in channels.enumerated() { try await fixture.follow(channel, number) }
                }()
                var ids: [PushID] = []
                for number in 1..<40 {
                    let audience: Audience = number.isMultiple(of: 2) ? .tag("vip", group: "device") : .all
                    let id = try await fixture.publish(
                        audience, alert: number.isMultiple(of: 5), label: String(number))
                    ids.append(id)
                    if number.isMultiple(of: 4) { try await fixture.swept(id) }
                }
                try await followed
                try await fixture.nobodyIsLate()
                ids.append(try await fixture.publish(label: "40"))
                var ledgers: [Ledger] = []
                for id in ids { ledgers.append(try await fixture.finished(id)) }
                return ledgers
            }
        }
        #expect(ledgers.allSatisfy { $0.pending == 0 }, "\(ledgers.filter { $0.pending != 0 })")
        let taken = transport.taken.mapValues { $0.compactMap { Int($0) } }
        for number in channels.indices {
            let pushes = taken[number] ?? []
            #expect(pushes.last == 40 && pushes == Set(pushes).sorted(), "\(number): \(pushes)")
            if !vips.contains(number) { #expect(!pushes.dropFirst().dropLast().contains { $0.isMultiple(of: 2) }) }
        }
    }

    @Test func `a push past its deadline is not sent to late joiners`() async throws {
        let fixture = try await WorkerFixture.start()
        let id = try await fixture.publish(alert: false)
        _ = try await fixture.claimed(id)
        var record = try #require(try await fixture.store.sweeps.records(fixture.app, fixture.name, [id])[id])
        func decided(upTo: Int = 1, after: Int = 0, hours: Int = 0) -> LateDecision? {
            LateJoiner(channel: [1], value: Array("\(upTo) \(after)".utf8))?.decision(
                on: record, now: record.createdAt + Int64(hours) * 3_600_000)
        }
        let put = LateDecision.put(id)
        #expect(decided() == put && decided(hours: 7) == put)
        #expect(decided(hours: 8) == .drop)
        #expect(decided(upTo: 0) == .drop, "its own sweep has it")
        #expect(decided(after: 1) == .drop, "the start was newer")
        record.deadline = record.createdAt + 1_800_000
        #expect(decided() == put && decided(hours: 1) == .drop)
        record.deadline = record.createdAt + 86_400_000
        #expect(decided(hours: 7) == put && decided(hours: 8) == .drop, "no card lives longer")
        record.event = .end
        #expect(decided() == .drop && decided(upTo: 2, after: 0) == .drop)
        record.sequence = 2
        #expect(decided(upTo: 2, after: 1) == .put(id), "it was started before")
        record.payload += Array(repeating: 0x20, count: 4_096)
        #expect(decided(upTo: 2, after: 1) == .drop)
    }
}
