import APNsWire
import Delivery
import Foundation
import LiveActivity
import Redis
import ServiceLifecycle
import Store
import Synchronization
import TestSupport
import Testing

@testable import Fanout

/// Tests the order of the pushes to each token, under everything at once: updates, alerts and ends, changing
/// registrations, answers of all kinds, a Redis that is killed, two workers.
///
/// The transport's record is the judge, not the ledger. No token gets an older push after a newer one, or anything
/// after its end. Every channel that follows at the end has the last state.
@Suite struct OrderTests {
    @Test(.timeLimit(.minutes(5))) func `per token in order and to the last state`() async throws {
        let fixture = try await WorkerFixture.start(keeps: true)
        let transport = ScriptedTransport(pause: .milliseconds(60), byLabel: Self.answer)
        let groups = (0..<2).map { fixture.group(transport, "w\($0)", claimAfter: .seconds(10), attempts: 0) }
        let crowd = Crowd(fixture)
        try await crowd.gather([1_500, 60, 20, 3])
        let finals = try await withThrowingTaskGroup(of: Void.self) { tasks in
            for group in groups { tasks.addTask { try await group.run() } }
            let quiet = Drain()
            tasks.addTask { while !quiet.isOn { try await crowd.change() } }
            tasks.addTask {
                await crowd.progress.passed(30)
                _ = try? await fixture.store.redis.everywhere("SCRIPT", "FLUSH")
                fixture.server.signal(SIGKILL)
                try await fixture.server.restart()
            }
            try await crowd.publish(60)
            let finals = try await crowd.publishLast()
            for id in finals { try await fixture.swept(id) }
            quiet.begin()
            for id in crowd.published {
                let ledger = try await fixture.finished(id)
                #expect(ledger.pending == 0 && ledger.expanded, "\(ledger)")
                // A dead token counts as failed if its channel has another token by now. No other token fails.
                #expect(ledger.failed + ledger.pruned <= ledger.errors["BadDeviceToken", default: 0], "\(ledger)")
            }
            for group in groups { await group.triggerGracefulShutdown() }
            try await tasks.waitForAll()
            return finals
        }
        #expect(finals.count == 4)
        Self.judgeOrder(transport.requests)
        try await crowd.judgeLast(transport.taken)
    }

    /// No token is refused more than twice in a row. Dead tokens stay dead.
    @Sendable private static func answer(_ token: [UInt8], _ label: String, _ attempt: Int) -> PushOutcome {
        if WorkerFixture.number(token) % 97 == 96 {
            return .rejected(Rejection(status: 400, reason: .known(.badDeviceToken)))
        }
        if attempt >= 3 { return .accepted }
        return switch Int.random(in: 0..<100) {
        case 0..<8: WaitingTests.busy()
        case 8..<9: WaitingTests.busy(retryAfter: 1)
        case 9..<12: .unanswered(NoAnswer(.timeout, mayHaveBeenDelivered: true))
        default: .accepted
        }
    }

    private static func judgeOrder(_ requests: [ScriptedTransport.Request]) {
        var last: [[UInt8]: Int] = [:]
        var ended: [[UInt8]: Int] = [:]
        for request in requests {
            let number = Int(request.label.drop { $0 == "e" }) ?? -1
            let token = WorkerFixture.number(request.token)
            if let before = last[request.token], number < before {
                Issue.record("\(token) was sent \(number) after \(before)")
            }
            if let end = ended[request.token], number != end {
                Issue.record("\(token) was sent \(number) after its end")
            }
            last[request.token] = number
            if request.isAccepted, request.label.hasPrefix("e") { ended[request.token] = number }
        }
    }
}

/// Followers of several names that come, change and go, and the pushes to them.
private final class Crowd: Sendable {
    private struct Follower {
        var name: Int
        var channel: ChannelID
        var token: Int
        /// Whether it must have the name's last push, because it registered while that push was not expanded.
        var isOwedLast = true
    }
    private struct State {
        var followers: [Follower] = []
        var nextToken = 1
        var published: [PushID] = []
        var last: [Int: (label: String, id: PushID)] = [:]
        var number = 0
    }
    private let state = Mutex(State())
    let progress = Signal("pushes are published")
    private let fixture: WorkerFixture
    private let names: [ActivityName]

    init(_ fixture: WorkerFixture) {
        self.fixture = fixture
        names = (0..<4).map { try! ActivityName("match-\($0)") }
    }

    var published: [PushID] { state.withLock { $0.published } }

    func gather(_ counts: [Int]) async throws {
        for (name, count) in counts.enumerated() {
            for _ in 0..<count {
                state.withLock { state in
                    state.followers.append(Follower(name: name, channel: .random(), token: state.nextToken))
                    state.nextToken += 1
                }
            }
            let mine = state.withLock { $0.followers.filter { $0.name == name } }
            let registrations = try mine.map { try registration($0) }
            _ = try await fixture.store.registry.track(fixture.app, .activity(names[name]), registrations)
        }
    }

    private func registration(_ follower: Follower) throws -> Registration {
        Registration(
            channel: follower.channel, token: try #require(WorkerFixture.token(follower.token)),
            registeredAt: nowMilliseconds())
    }

    /// Makes one change: a new registration, another token, or a removal.
    func change() async throws {
        let kind = Int.random(in: 0..<10)
        // The times of one channel's registrations must differ.
        try await fixture.isLater(than: nowMilliseconds())
        let (index, follower, isRemoval) = state.withLock { state in
            if kind < 4 || state.followers.isEmpty {
                state.followers.append(Follower(name: Int.random(in: 0..<4), channel: .random(), token: 0))
                state.followers[state.followers.count - 1].token = state.nextToken
                state.nextToken += 1
                return (state.followers.count - 1, state.followers[state.followers.count - 1], false)
            }
            let index = state.followers.indices.randomElement() ?? 0
            if kind < 8 {
                state.followers[index].token = state.nextToken
                state.nextToken += 1
                return (index, state.followers[index], false)
            }
            return (index, state.followers.remove(at: index), true)
        }
        let name = names[follower.name]
        try await WorkerFixture.untilRedisAnswers {
            if isRemoval {
                try await self.fixture.store.registry.untrack(
                    self.fixture.app, .activity(name),
                    [Untrack(channel: follower.channel, removedAt: nowMilliseconds())])
            } else {
                _ = try await self.fixture.store.registry.track(
                    self.fixture.app, .activity(name), [try self.registration(follower)])
            }
        }
        if isRemoval { return }
        var isOwed = true
        if let last = state.withLock({ $0.last[follower.name] }) {
            let ledger = try await fixture.store.pushes.ledger(fixture.app, last.id)
            isOwed = ledger?.expanded == false
        }
        state.withLock { [isOwed] in $0.followers[index].isOwedLast = isOwed }
    }

    func publish(_ count: Int) async throws {
        for _ in 0..<count {
            let name = Int.random(in: 0..<4)
            switch Int.random(in: 0..<10) {
            case 0..<5: _ = try await publish(name, alert: false)
            case 5..<8: _ = try await publish(name, alert: true)
            default:
                let some = state.withLock { state in
                    state.followers.filter { $0.name == name }.shuffled().prefix(3).map(\.channel)
                }
                if !some.isEmpty { _ = try await publish(name, alert: false, ending: some) }
            }
            try await Task.sleep(for: .milliseconds(Int.random(in: 0..<60)))
        }
    }

    func publishLast() async throws -> [PushID] {
        var ids: [PushID] = []
        for name in 0..<4 { ids.append(try await publish(name, alert: name % 2 == 0, isLast: true)) }
        return ids
    }

    private func publish(
        _ name: Int, alert: Bool, ending: [ChannelID] = [], isLast: Bool = false
    ) async throws -> PushID {
        let id = PushID.random()
        let label = state.withLock { state in
            state.number += 1
            state.published.append(id)
            return (ending.isEmpty ? "" : "e") + "\(state.number)"
        }
        try await WorkerFixture.untilRedisAnswers {
            _ = try await self.fixture.publish(
                ending.isEmpty ? .all : .or(ending.map { .channel($0) }), alert: alert,
                event: ending.isEmpty ? .update : .end, label: label, id: id, to: self.names[name])
        }
        progress.move(to: published.count)
        if isLast { state.withLock { $0.last[name] = (label, id) } }
        return id
    }

    /// Checks that every channel has the last push if it follows now and did before that push was expanded.
    func judgeLast(_ taken: [Int: [String]]) async throws {
        let (followers, last) = state.withLock { ($0.followers, $0.last) }
        for (name, activity) in names.enumerated() {
            var present: Set<Int> = []
            var position = ScanPosition.start
            while position < .end {
                let (page, next) = try await fixture.store.tokens.page(
                    fixture.app, .activity(activity), from: position, to: .end, limit: 1_000)
                for index in 0..<page.count { present.insert(WorkerFixture.number(Array(page.token(index)))) }
                position = next
            }
            let owed = followers.filter { $0.name == name && $0.isOwedLast && present.contains($0.token) }
            #expect(!owed.isEmpty || name == 3)
            for follower in owed where taken[follower.token]?.last != last[name]?.label {
                Issue.record(
                    "\(follower.token) of \(activity) took \(taken[follower.token] ?? []), not \(last[name]?.label ?? "")"
                )
            }
        }
    }
}
