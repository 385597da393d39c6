import LiveActivity
import Redis
import Synchronization
import TestSupport
import Testing

@testable import Fanout
@testable import Store
@testable import StoreDeliveries

/// Tests a phone that removes a card and begins the next one of the same name, as it does after it was offline. The
/// next card has the newest state, once.
@Suite struct NextCardTests {
    @Test(.timeLimit(.minutes(5))) func `a channel that removes its card and begins another has the newest state once`()
        async throws
    {
        let fixture = try await WorkerFixture.start()
        let transport = ScriptedTransport()
        try await fixture.withWorker(transport) {
            try await fixture.swept(["state"])
            try await withThrowingTaskGroup { group in
                for task in 0..<4 {
                    group.addTask {
                        for number in 0..<300 {
                            let channel = ChannelID.random()
                            try await fixture.follow(channel, 10_000 + task * 1_000 + number, activity: "A")
                            try await fixture.remove(channel, activity: "A")
                            try await fixture.follow(channel, 20_000 + task * 1_000 + number, activity: "B")
                        }
                    }
                }
                try await group.waitForAll()
            }
            try await fixture.nobodyIsLate()
            _ = try await fixture.finished(try #require(try await fixture.lastPush()))
        }
        let taken = transport.taken
        let next = (0..<4).flatMap { task in (0..<300).map { 20_000 + task * 1_000 + $0 } }
        let without = next.filter { taken[$0] == nil }
        #expect(without.isEmpty)
        #expect(taken.filter { $0.value.count > 1 }.isEmpty)
    }

    /// The worker read the note of the first card, and looked its channel up between the two cards.
    @Test func `a decision about the card before does not touch the next one`() async throws {
        let fixture = try await WorkerFixture.start()
        let transport = ScriptedTransport()
        try await fixture.withWorker(transport) { try await fixture.swept(["state"]) }
        let channel = ChannelID.random()
        try await fixture.follow(channel, 1, activity: "A")
        let late = fixture.store.lateJoiners
        let states = try await late.states(fixture.app, fixture.name)
        let before = try await fixture.lateJoiners()
        try await fixture.remove(channel, activity: "A")
        try await fixture.follow(channel, 2, activity: "B")
        let settled = try await late.settle(fixture.app, fixture.name, states, before.map { ($0, .drop) })
        #expect(settled?.left == 1)
        try await fixture.withWorker(transport) { await transport.answered(1) }
        #expect(transport.taken == [2: ["state"]])
    }

    /// The retry takes the token that the channel has by then.
    @Test func `a card gets a state that waits for the card before it once`() async throws {
        let fixture = try await WorkerFixture.start()
        let transport = ScriptedTransport()
        try await fixture.withWorker(transport) { try await fixture.swept(["state"]) }
        let push = try #require(try await fixture.lastPush())
        let channel = ChannelID.random()
        try await fixture.follow(channel, 1, activity: "A")
        let late = fixture.store.lateJoiners
        let states = try await late.states(fixture.app, fixture.name)
        let put = try await fixture.lateJoiners().map { ($0, LateDecision.put(push)) }
        #expect(try await late.settle(fixture.app, fixture.name, states, put)?.put == 1)
        try await fixture.remove(channel, activity: "A")
        try await fixture.follow(channel, 2, activity: "B")
        let noted = try await fixture.lateJoiners()
        #expect(noted.map(\.waitsFor) == [push])
        // If its queue is sent before the decision, only this note says that the card has the state.
        func isDropped(while state: PushState) async throws {
            let record = try #require(try await late.states(fixture.app, fixture.name).kept.first)
            #expect(record.id == push && record.state == state)
            guard case .drop? = noted.first?.decision(on: record, now: nowMilliseconds()) else {
                Issue.record("the card would get the state twice")
                return
            }
        }
        try await isDropped(while: .sending)
        try await fixture.store.queue.add([.retries(fixture.app, fixture.name, .high)])
        try await fixture.withWorker(transport) {
            await transport.answered(1)
            try await fixture.nobodyIsLate()
            _ = try await fixture.finished(push)
        }
        try await isDropped(while: .done)
        #expect(transport.taken == [2: ["state"]])
    }

    @Test func `a note of an earlier version is read`() throws {
        let old = try #require(LateJoiner(channel: [1], value: Array("7 3".utf8)))
        #expect(old.upTo == 7 && old.after == 3 && old.waitsFor == nil)
        let push = PushID.random()
        let new = try #require(LateJoiner(channel: [1], value: Array("7 3 n12 \(push)".utf8)))
        #expect(new.upTo == 7 && new.after == 3 && new.waitsFor == push)
        // An earlier version takes all numbers among the words, which must be two.
        let words = String(decoding: new.value, as: UTF8.self).split(separator: " ")
        #expect(words.compactMap { Int($0) } == [7, 3])
    }
}

extension WorkerFixture {
    fileprivate func remove(_ channel: ChannelID, activity: String) async throws {
        try await store.registry.untrack(
            app, .activity(name), [Untrack(channel: channel, removedAt: nowMilliseconds(), activityID: activity)])
    }
}
