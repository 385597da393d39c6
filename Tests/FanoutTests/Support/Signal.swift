import Synchronization
import Testing

/// A count for which tests wait. A wait that lasts longer than any machine needs ends with a failure, so
/// the suite never hangs.
final class Signal: Sendable {
    private struct State {
        var count = 0
        var waiting: [Int: (count: Int, continuation: CheckedContinuation<Bool, Never>)] = [:]
        var next = 0
    }
    private let state = Mutex(State())
    private let what: String

    /// `what` names the counted thing.
    init(_ what: String) { self.what = what }

    var count: Int { state.withLock { $0.count } }

    func move(to count: Int) {
        let ready = state.withLock { state in
            state.count = count
            let ready = state.waiting.filter { $0.value.count <= count }
            for number in ready.keys { state.waiting[number] = nil }
            return ready.values.map(\.continuation)
        }
        for continuation in ready { continuation.resume(returning: true) }
    }

    /// Returns when the count is at least that high.
    func passed(_ count: Int, within limit: Duration = .seconds(120)) async {
        let number = state.withLock { state in
            state.next += 1
            return state.next
        }
        let timer = Task {
            try await Task.sleep(for: limit)
            state.withLock { $0.waiting.removeValue(forKey: number) }?.continuation.resume(returning: false)
        }
        defer { timer.cancel() }
        let isThere = await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.count >= count { return true }
                state.waiting[number] = (count, continuation)
                return false
            }
            if isThere { continuation.resume(returning: true) }
        }
        if !isThere { Issue.record("\(self.count) \(what), not \(count), after \(limit)") }
    }
}
