import Foundation
import Synchronization
import TestSupport
import Testing

@testable import LamplighterKit

/// The registrar with a double of ActivityKit, and what reaches the gateway.
@Suite struct RegistrarTests {
    private let directory: TemporaryDirectory
    private let gateway = FakeGateway()
    private let phone = FakePhone()

    init() throws { directory = try TemporaryDirectory() }

    private func launch() async -> Lamplighter {
        let kit = gateway.kit(directory.path("kit"))
        await kit.registrar.follow(phone)
        await kit.registrar.follow(phone)
        return kit
    }

    /// Waits until as many requests with all of these parts were made, or more: two launches of a test are one process,
    /// and may both send.
    private func expect(_ parts: String..., count: Int = 1) async throws {
        try await eventually("\(parts) in \(gateway.requests)", within: .seconds(60)) {
            let found = gateway.requests.count { request in
                parts.allSatisfy { (request.path + request.body).contains($0) }
            }
            return count == 0 ? found == 0 : found >= count
        }
    }

    @Test func `an activity that exists, begins, rotates and ends is reported`() async throws {
        let old = phone.begin("E1", "match-1", token: 1)
        _ = await launch()
        try await expect("/activities/match-1/", #""activity_id":"E1""#, #""token":"01""#)
        let new = phone.begin("E2", "match-2", token: nil)
        new.rotate(2)
        try await expect("/activities/match-2/", #""activity_id":"E2""#, #""token":"02""#)
        new.rotate(3)
        try await expect("/activities/match-2/", #""token":"03""#, "started_at_ms")
        new.show("mark-1")
        new.end(.dismissed)
        try await expect("/sdk/batch/", #""action":"remove""#, #""id":"E2","name":"match-2""#)
        try await expect("/receipts", #"{"event":"shown","push_id":"mark-1"}"#)
        try await expect("/receipts", #"{"event":"dismissed","push_id":"mark-1"}"#)
        old.end(.ended)
        try await expect("/sdk/batch/", #""id":"E1""#)
    }

    @Test func `what ended while the app was away is reported at the next launch`() async throws {
        phone.begin("E1", "match-1", token: 1)
        let dismissed = phone.begin("E2", "match-2", token: 2)
        _ = await launch()
        try await expect(#""activity_id":"E1""#)
        try await expect(#""activity_id":"E2""#)
        phone.stopWatching()
        dismissed.leave()
        _ = await launch()
        try await expect("/sdk/batch/", #""id":"E2""#)
        try await expect(#""activity_id":"E1""#, count: 2)
        try await expect("/sdk/batch/", #""id":"E1""#, count: 0)
    }

    @Test func `a start token and the setting for frequent pushes are reported`() async throws {
        phone.begin("E1", "match-1", token: 1)
        phone.startToken(0xaa)
        _ = await launch()
        try await expect("/start-tokens/MatchAttributes/", #""token":"aa""#)
        try await expect("/activities/match-1/", #""frequent_pushes_enabled":true"#)
        phone.setFrequentPushes(false)
        try await expect("/activities/match-1/", #""frequent_pushes_enabled":false"#)
    }

    @Test func `an activity that starts later counts from its start`() async throws {
        let card = phone.begin("E1", "match-1", token: 1, state: .pending)
        _ = await launch()
        try await expect(#""activity_id":"E1""#)
        card.end(.active)
        try await expect(#""activity_id":"E1""#, count: 2)
        try await expect("started_at_ms", count: 0)
    }

    @Test func `an activity on a broadcast channel registers nothing`() async throws {
        let card = phone.begin("E1", "match-1", token: nil)
        let kit = await launch()
        card.end(.dismissed)
        phone.startToken(1)
        try await expect("/start-tokens/")
        await kit.outbox.sent()
        #expect(gateway.requests.count == 1)
    }
}

/// Plays ActivityKit.
private final class FakePhone: ActivitySource {
    private struct State {
        var cards: [FakeCard] = []
        var isFrequent = true
        var newCards: [AsyncStream<any Card>.Continuation] = []
        var starts: [AsyncStream<Data>.Continuation] = []
        var settings: [AsyncStream<Bool>.Continuation] = []
        var startToken: Data?
    }
    private let state = Mutex(State())
    let attributesType = "MatchAttributes"

    @discardableResult
    func begin(_ id: String, _ name: String, token: UInt8?, state: CardState = .active) -> FakeCard {
        let card = FakeCard(id, name, token, state)
        let watchers = self.state.withLock { state in
            state.cards.append(card)
            return state.newCards
        }
        for watcher in watchers { watcher.yield(card) }
        return card
    }

    func startToken(_ byte: UInt8) {
        let watchers = state.withLock { state in
            state.startToken = Data([byte])
            return state.starts
        }
        for watcher in watchers { watcher.yield(Data([byte])) }
    }

    func setFrequentPushes(_ isOn: Bool) {
        let watchers = state.withLock { state in
            state.isFrequent = isOn
            return state.settings
        }
        for watcher in watchers { watcher.yield(isOn) }
    }

    /// The app is away.
    func stopWatching() {
        let cards = state.withLock { state in
            for watcher in state.newCards { watcher.finish() }
            return state.cards
        }
        for card in cards { card.stopWatching() }
    }

    func cards() -> [any Card] { state.withLock { $0.cards }.filter { !$0.isGone } }

    func newCards() -> AsyncStream<any Card> {
        let (stream, continuation) = AsyncStream<any Card>.makeStream()
        state.withLock { $0.newCards.append(continuation) }
        return stream
    }

    func startTokens() -> AsyncStream<Data> {
        let (stream, continuation) = AsyncStream<Data>.makeStream()
        let token = state.withLock { state in
            state.starts.append(continuation)
            return state.startToken
        }
        if let token { continuation.yield(token) }
        return stream
    }

    var hasFrequentPushes: Bool { state.withLock { $0.isFrequent } }

    func frequentPushes() -> AsyncStream<Bool> {
        let (stream, continuation) = AsyncStream<Bool>.makeStream()
        state.withLock { $0.settings.append(continuation) }
        return stream
    }
}

private final class FakeCard: Card {
    private struct State {
        var token: Data?
        var state: CardState
        var mark: String?
        var isGone = false
        var tokens: [AsyncStream<Data>.Continuation] = []
        var states: [AsyncStream<CardState>.Continuation] = []
        var marks: [AsyncStream<String?>.Continuation] = []
    }
    let id: String
    let name: String
    private let now: Mutex<State>

    init(_ id: String, _ name: String, _ token: UInt8?, _ state: CardState) {
        (self.id, self.name) = (id, name)
        now = Mutex(State(token: token.map { Data([$0]) }, state: state))
    }

    func rotate(_ byte: UInt8) {
        let watchers = now.withLock { now in
            now.token = Data([byte])
            return now.tokens
        }
        for watcher in watchers { watcher.yield(Data([byte])) }
    }

    func show(_ mark: String) {
        let watchers = now.withLock { now in
            now.mark = mark
            return now.marks
        }
        for watcher in watchers { watcher.yield(mark) }
    }

    func end(_ state: CardState) {
        let watchers = now.withLock { now in
            now.state = state
            return now.states
        }
        for watcher in watchers { watcher.yield(state) }
    }

    func leave() { now.withLock { $0.isGone = true } }

    func stopWatching() {
        now.withLock { now in
            for watcher in now.tokens { watcher.finish() }
            for watcher in now.states { watcher.finish() }
            for watcher in now.marks { watcher.finish() }
        }
    }

    var isGone: Bool { now.withLock { $0.isGone } }
    var token: Data? { now.withLock { $0.token } }
    var state: CardState { now.withLock { $0.state } }
    var mark: String? { now.withLock { $0.mark } }

    func tokens() -> AsyncStream<Data> {
        let (stream, continuation) = AsyncStream<Data>.makeStream()
        let token = now.withLock { now in
            now.tokens.append(continuation)
            return now.token
        }
        if let token { continuation.yield(token) }
        return stream
    }

    func states() -> AsyncStream<CardState> {
        let (stream, continuation) = AsyncStream<CardState>.makeStream()
        continuation.yield(
            now.withLock { now in
                now.states.append(continuation)
                return now.state
            })
        return stream
    }

    func marks() -> AsyncStream<String?> {
        let (stream, continuation) = AsyncStream<String?>.makeStream()
        continuation.yield(
            now.withLock { now in
                now.marks.append(continuation)
                return now.mark
            })
        return stream
    }
}
