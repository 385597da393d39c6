import Store
import Synchronization

/// Limits the requests of a caller at all gateways together. The bucket is in Redis, and this gateway takes a tenth of
/// a second's requests out of it at once, so that most requests ask nobody. Unused requests are lost after a second. A
/// caller that is over its limit is refused without a question until its time comes.
///
/// Without Redis nobody is refused here: the call itself fails then.
final class RateLimit: Sendable {
    private struct Lease {
        var left = 0
        var end: ContinuousClock.Instant
        var refusedUntil: ContinuousClock.Instant?
        /// Requests that come meanwhile share it.
        var question: Task<Void, Never>?
    }

    private enum Step {
        case go
        case refused(Duration)
        case ask(Task<Void, Never>)
    }

    static let mostCallers = 10_000
    private static let life: Duration = .seconds(1)
    private let rates: Rates
    private let now: @Sendable () -> ContinuousClock.Instant
    private let leases = Mutex<[String: Lease]>([:])

    init(_ rates: Rates, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        self.rates = rates
        self.now = now
    }

    /// Counts a request.
    /// - Parameter perSecond: 0 means no limit
    /// - Returns: the seconds after which the caller may ask again; nil: it may go on
    func wait(_ subject: String, perSecond: Int) async -> Int? {
        guard perSecond > 0 else { return nil }
        while true {
            switch step(subject, perSecond) {
            case .go: return nil
            case .refused(let time): return max(1, Int((time / .seconds(1)).rounded(.up)))
            case .ask(let question): await question.value
            }
        }
    }

    private func step(_ subject: String, _ perSecond: Int) -> Step {
        let now = now()
        return leases.withLock { leases in
            var lease = leases[subject] ?? Lease(end: now)
            if let until = lease.refusedUntil, now < until { return .refused(now.duration(to: until)) }
            if lease.left > 0, now < lease.end {
                lease.left -= 1
                leases[subject] = lease
                return .go
            }
            if let question = lease.question { return .ask(question) }
            let question = Task { await ask(subject, perSecond) }
            lease.question = question
            leases[subject] = lease
            if leases.count > Self.mostCallers { Self.makeRoom(&leases, now) }
            return .ask(question)
        }
    }

    private func ask(_ subject: String, _ perSecond: Int) async {
        let wanted = max(1, perSecond / 10)
        let answer = try? await rates.take(subject, perSecond: perSecond, wanted: wanted)
        let now = now()
        let (taken, wait) = answer ?? (wanted, 0)
        leases.withLock { leases in
            let refusedUntil = taken > 0 ? nil : now + .milliseconds(wait)
            leases[subject] = Lease(left: taken, end: now + Self.life, refusedUntil: refusedUntil)
        }
    }

    /// Forgets callers whose lease has expired; if that is not enough, a quarter of the others. They ask Redis again.
    private static func makeRoom(_ leases: inout [String: Lease], _ now: ContinuousClock.Instant) {
        leases = leases.filter { $0.value.question != nil || max($0.value.end, $0.value.refusedUntil ?? now) > now }
        guard leases.count > mostCallers else { return }
        for (subject, lease) in leases.prefix(mostCallers / 4) where lease.question == nil { leases[subject] = nil }
    }
}
