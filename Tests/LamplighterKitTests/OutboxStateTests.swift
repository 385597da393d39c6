import Foundation
import Testing

@testable import LamplighterKit

@Suite struct OutboxStateTests {
    private var state = OutboxState(install: "c-1")
    private let now: Int64 = 1_795_284_000_000

    private static func follow(_ state: inout OutboxState, _ activity: String, _ token: String, _ now: Int64) {
        state.follow(
            activity, name: "match-42", of: "MatchAttributes", token: token, hasFrequentPushes: true, isPending: false,
            now: now)
    }

    private func tokens(_ state: OutboxState) -> [String] {
        state.entries.map { entry in
            switch entry.report {
            case .follow(let follow): follow.token
            case .unfollow(let unfollow): "-" + unfollow.activity
            case .start(let start): start.token
            case .unstart(let unstart): "-" + unstart.attributesType
            case .device(let device): device.system
            }
        }
    }

    @Test mutating func `a newer report of a key takes the place of the older one`() {
        for number in 0..<10_000 { Self.follow(&state, "A", "\(number)", now) }
        Self.follow(&state, "B", "b", now)
        state.start("MatchAttributes", token: "s", now: now)
        #expect(tokens(state) == ["9999", "b", "s"])
        state.unfollow("A", now: now)
        #expect(tokens(state) == ["b", "s", "-A"], "the end of A leaves the next card of the name alone")
    }

    @Test mutating func `an answer removes the report that was sent, not a newer one`() {
        Self.follow(&state, "A", "1", now)
        let sent = state.entries[0]
        Self.follow(&state, "A", "2", now)
        state.remove(sent)
        #expect(tokens(state) == ["2"])
    }

    @Test mutating func `times only grow, whatever the clock does`() {
        var times: [Int64] = []
        for time in [now, now - 3_600_000, now + 86_400_000, now, 0] {
            Self.follow(&state, "A", "1", time)
            times.append(state.entries[0].at)
        }
        #expect(times == times.sorted() && Set(times).count == times.count)
        var early = OutboxState(install: "c-1")
        Self.follow(&early, "A", "1", 0)
        #expect("\(early.entries[0].at)".count == 13)
    }

    @Test mutating func `a rotated token keeps the start of its card`() throws {
        func start(_ state: OutboxState) -> Int64? {
            guard case .follow(let follow) = state.entries.last?.report else { return nil }
            return follow.startedAt
        }
        Self.follow(&state, "A", "1", now)
        #expect(start(state) == nil)
        Self.follow(&state, "A", "2", now + 60_000)
        #expect(start(state) == now)
        // The clock was a year behind when the card began.
        Self.follow(&state, "B", "1", now)
        Self.follow(&state, "B", "2", now + 365 * OutboxState.day)
        #expect(start(state) == nil)
        state = OutboxState(install: "c-1")
        for token in ["1", "2"] { Self.follow(&state, "A", token, now) }
        state.leaveOutStart(state.entries[0])
        #expect(start(state) == nil)
        // It starts later, and then counts from then on.
        for (isPending, time) in [(true, now), (false, now + 9_000), (false, now + 10_000)] {
            state.follow(
                "P", name: "n", of: "T", token: "1", hasFrequentPushes: true, isPending: isPending, now: time + 60_000)
        }
        #expect(start(state) == now + 69_000)
    }

    @Test mutating func `a start token is reported again after a day`() {
        func report(_ token: String, _ time: Int64) -> Bool {
            let before = state.lastNumber
            state.start("T", token: token, now: time)
            return state.lastNumber > before
        }
        #expect(report("a", now))
        #expect(!report("a", now + OutboxState.day - 1))
        #expect(report("a", now + OutboxState.day))
        #expect(report("b", now + OutboxState.day))
        // The clock was set back: the time of the last report lies ahead.
        #expect(report("b", now))
    }

    @Test mutating func `cards that went while the app was away are reported once`() {
        for activity in ["A", "B"] { Self.follow(&state, activity, "1", now) }
        state.follow("C", name: "n", of: "Other", token: "1", hasFrequentPushes: true, isPending: false, now: now)
        state.keep(["B"], of: "MatchAttributes", now: now)
        #expect(tokens(state) == ["1", "1", "-A"])
        let before = state
        state.keep(["B"], of: "MatchAttributes", now: now)
        state.unfollow("unknown", now: now)
        #expect(state == before)
    }

    @Test mutating func `a report is newer than the gateway's last answer, however slow the clock is`() {
        Self.follow(&state, "A", "1", 0)
        state.answered(at: now, now: 0)
        state.unfollow("A", now: 0)
        #expect(state.entries.allSatisfy { $0.at > now })
        // A clock that is right, or fast, is believed.
        for ahead in [0, OutboxState.day] {
            var state = OutboxState(install: "c-1")
            Self.follow(&state, "B", "1", now + ahead)
            state.answered(at: now + 30_000, now: now + ahead)
            #expect(state.lastStamp == now + ahead)
        }
    }

    @Test mutating func `an install that opted out has only ends to report`() {
        Self.follow(&state, "A", "1", now)
        state.start("T", token: "s", now: now)
        state.receive(Receipt(push: "p", event: .shown))
        state.optOut(now: now)
        Self.follow(&state, "B", "1", now)
        state.start("T", token: "t", now: now)
        state.receive(Receipt(push: "q", event: .shown))
        #expect(tokens(state) == ["-A", "-T"] && state.receipts.isEmpty)
        state.optIn()
        state.start("T", token: "s", now: now)
        #expect(tokens(state) == ["-A", "s"])
    }

    @Test mutating func `each receipt is sent once`() {
        let receipt = Receipt(push: "p", event: .shown)
        for _ in 0..<2 { state.receive(receipt) }
        #expect(state.receipts == [receipt])
        state.settle([receipt])
        state.receive(receipt)
        #expect(state.receipts.isEmpty)
        state.receive(Receipt(push: "p", event: .ended))
        #expect(state.receipts.count == 1)
    }

    @Test mutating func `it grows by a bound`() {
        for number in 0..<3_000 {
            Self.follow(&state, "\(number)", "\(number)", now)
            state.receive(Receipt(push: "\(number)", event: .shown))
        }
        #expect(state.entries.count == OutboxState.mostEntries && state.dropped == 3_000 - OutboxState.mostEntries)
        #expect(state.followed.count == OutboxState.mostFollowed && state.followed["2999"] != nil)
        #expect(state.receipts.count == OutboxState.mostReceipts)
        state.settle(state.receipts)
        #expect(state.told.count == OutboxState.mostTold)
    }

    @Test mutating func `one process sends, until its lease is over`() {
        state.take("app", now: now)
        state.take("extension", now: now + 59_999)
        #expect(state.lease?.owner == "app")
        state.take("extension", now: now + 60_000)
        #expect(state.lease?.owner == "extension")
        // The clock was set back by a day: nobody waits for that day.
        state.take("app", now: now - OutboxState.day)
        #expect(state.lease?.owner == "app")
        state.release("extension")
        #expect(state.lease?.owner == "app")
        state.release("app")
        #expect(state.lease == nil)
    }

    @Test func `the stored form is read by later versions`() throws {
        let stored =
            #"{"dropped":0,"entries":[{"at":1795284000000,"number":1,"report":{"follow":{"_0":{"activity":"A","hasFrequentPushes":true,"name":"match-42","token":"1"}}}}],"followed":{"A":{"attributesType":"MatchAttributes","name":"match-42","number":1,"startedAt":1795284000000}},"install":"c-1","lastNumber":1,"lastStamp":1795284000000,"receipts":[{"event":"shown","push":"p"}],"starts":{},"told":[],"version":1}"#
        let state = try JSONDecoder().decode(OutboxState.self, from: Data(stored.utf8))
        var same = OutboxState(install: "c-1")
        Self.follow(&same, "A", "1", now)
        same.receive(Receipt(push: "p", event: .shown))
        #expect(state == same)
    }

    @Test func `pauses grow, stay below a bound and are as long as the gateway asks`() {
        var backoff = Backoff()
        let pauses = (0..<100).map { _ in backoff.failed(asked: nil) { $0.upperBound } }
        #expect(pauses.prefix(4).map(\.length) == [2, 4, 8, 16] && pauses.last?.length == Backoff.longest)
        #expect(backoff.failed(asked: 600) { $0.lowerBound } == Backoff.Pause(length: 600, asked: 600))
        #expect(backoff.failed(asked: 1e9) { $0.lowerBound }.asked == Backoff.longestAsked)
        backoff.succeeded()
        #expect(backoff.failed(asked: nil) { $0.lowerBound } == Backoff.Pause(length: 1, asked: 0))
    }
}
