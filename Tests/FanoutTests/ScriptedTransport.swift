import APNsClient
import APNsWire
import LiveActivity
import Synchronization

/// Answers by rule and keeps what it was sent: for the layers above the wire. The wire itself is tested with real servers.
final class ScriptedTransport: PushTransport {
    typealias Answer = @Sendable (_ token: [UInt8], _ attempt: Int) -> PushOutcome

    private struct State {
        var sent: [[UInt8]: [PreparedPush]] = [:]
        var total = 0
        /// Pages with such a token are held back.
        var isHeld: (@Sendable (_ token: [UInt8]) -> Bool)?
        var waiting: [CheckedContinuation<Void, Never>] = []
        var holders: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
        var arrivals: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }
    private let state = Mutex(State())
    private let answer: Answer

    init(_ answer: @escaping Answer = { _, _ in .accepted }) { self.answer = answer }

    var load: Int { 0 }
    func close() async {}

    func send(_ page: TokenPage, _ push: PreparedPush) async -> PageOutcome {
        await passGate(page)
        var outcome = PageOutcome()
        let arrived = state.withLock { state in
            for index in page.entries.indices {
                let token = Array(page.token(index))
                state.sent[token, default: []].append(push)
                state.total += 1
                switch answer(token, state.sent[token]!.count) {
                case .accepted: outcome.accepted += 1
                case let other: outcome.exceptions.append(.init(index: index, outcome: other))
                }
            }
            let total = state.total
            let ready = state.arrivals.filter { $0.count <= total }
            state.arrivals.removeAll { $0.count <= total }
            return ready
        }
        for (_, continuation) in arrived { continuation.resume() }
        return outcome
    }

    /// How often each token was sent to.
    var counts: [[UInt8]: Int] { state.withLock { $0.sent.mapValues(\.count) } }
    var total: Int { state.withLock { $0.total } }
    func pushes(to token: [UInt8]) -> [PreparedPush] { state.withLock { $0.sent[token] ?? [] } }

    /// Returns when `count` requests have been answered.
    func answered(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.total >= count { return true }
                state.arrivals.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// Pages that are held back.
    var held: Int { state.withLock { $0.waiting.count } }

    /// Returns when `pages` are held back.
    func holding(pages: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.waiting.count >= pages { return true }
                state.holders.append((pages, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// Holds pages back until `letGo`, all or those with such a token: what is in flight when a worker is asked to stop.
    func hold(_ isHeld: @escaping @Sendable (_ token: [UInt8]) -> Bool = { _ in true }) {
        state.withLock { $0.isHeld = isHeld }
    }
    func letGo() {
        let waiting = state.withLock { state in
            state.isHeld = nil
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    private func passGate(_ page: TokenPage) async {
        await withCheckedContinuation { continuation in
            let (mayPass, informed) = state.withLock { state in
                guard let isHeld = state.isHeld, page.entries.indices.contains(where: { isHeld(Array(page.token($0))) })
                else { return (true, [CheckedContinuation<Void, Never>]()) }
                state.waiting.append(continuation)
                let count = state.waiting.count
                let informed = state.holders.filter { $0.count <= count }.map(\.continuation)
                state.holders.removeAll { $0.count <= count }
                return (false, informed)
            }
            if mayPass { continuation.resume() }
            for waiting in informed { waiting.resume() }
        }
    }
}
