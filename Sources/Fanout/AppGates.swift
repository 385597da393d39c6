import APNsWire
import LiveActivity
import Synchronization

/// Which apps rest, and until when. Each halting answer in a row doubles the rest. When a rest is over the gate is half
/// open: one piece of work passes, and of its first page one request (`GatedTransport`); all else waits for what becomes
/// of it. The first page that gets through opens the gate.
final class AppGates: Sendable {
    /// How long the entries behind one that was let through wait, milliseconds. If it has sent no probe until then (there
    /// was nothing to send), the next one may.
    static let probeTurn: Int64 = 2_000

    struct Gate: Sendable {
        var halt: Halt
        /// Boot-clock milliseconds.
        var until: Int64
        var inARow: Int
        /// No other entry passes the half-open gate before: boot-clock milliseconds.
        var nextEntry: Int64 = 0
        var probe = Probe.none
    }

    enum Probe: Sendable {
        case none
        /// On its way to APNs, and the pages that wait for its fate.
        case inFlight(waiting: [CheckedContinuation<Admission, Never>])
        case refused
        /// APNs took the credentials; the gate opens with the first token delivered.
        case passed
    }

    /// What a page may do.
    enum Admission: Sendable {
        case send
        /// Send one request of the page, then call `probed`.
        case probe
        /// Nothing: this is the answer to each of its tokens.
        case refused(PushOutcome)
    }

    private let gates = Mutex<[AppKey: Gate]>([:])

    /// How long an app rests after the n-th halting answer in a row. A probe is one request, so asking once a minute is
    /// cheap; APNs counts neither.
    static func rest(_ halt: Halt, inARow: Int) -> Duration {
        let base: Duration = halt.cause == .credentials ? .seconds(15) : .seconds(1)
        let cap: Duration = halt.cause == .credentials ? .seconds(60) : .seconds(30)
        return min(cap, base * (1 << min(inARow, 10)))
    }

    /// The rest that a halting answer now would bring.
    func nextRest(_ app: AppKey, _ halt: Halt) -> Duration {
        Self.rest(halt, inARow: gates.withLock { $0[app]?.inARow ?? 0 })
    }

    /// Nil when a piece of the app's work may be begun; otherwise when to come again. Asking a half-open gate takes the
    /// turn to probe.
    func rest(of app: AppKey, now: Int64) -> Duration? {
        gates.withLock { gates in
            guard let gate = gates[app] else { return nil }
            if gate.until > now { return .milliseconds(gate.until - now) }
            if case .passed = gate.probe { return nil }
            guard gate.nextEntry <= now else { return .milliseconds(gate.nextEntry - now) }
            gates[app]?.nextEntry = now + Self.probeTurn
            return nil
        }
    }

    /// True if the app was not at rest already: the moment to raise the alarm, or to repeat it.
    func close(_ app: AppKey, _ halt: Halt, now: Int64) -> Bool {
        gates.withLock { gates in
            let before = gates[app]
            if let before, before.until > now { return false }
            let inARow = before?.inARow ?? 0
            var gate = Gate(halt: halt, until: now + Self.rest(halt, inARow: inARow).milliseconds, inARow: inARow + 1)
            if let probe = before?.probe, case .inFlight = probe { gate.probe = probe }
            gates[app] = gate
            return true
        }
    }

    /// What the app rested for, if it did: the moment to clear the alarm.
    func open(_ app: AppKey) -> Halt? {
        let gate = gates.withLock { $0.removeValue(forKey: app) }
        if case .inFlight(let waiting)? = gate?.probe { waiting.forEach { $0.resume(returning: .send) } }
        return gate?.halt
    }

    /// A halt that a worker before this one raised an alarm for: the app begins with a probe, whose success ends it.
    func inherit(_ app: AppKey, _ halt: Halt) {
        gates.withLock { $0[app] = $0[app] ?? Gate(halt: halt, until: 0, inARow: 0) }
    }

    // MARK: Pages

    /// Waits while a probe is on its way.
    func admit(_ app: AppKey, now: Int64) async -> Admission {
        await withCheckedContinuation { continuation in
            let admission: Admission? = gates.withLock { gates in
                guard let gate = gates[app] else { return .send }
                if case .passed = gate.probe { return .send }
                if gate.until > now { return .refused(gate.halt.outcome) }
                switch gate.probe {
                case .passed: return .send
                case .refused: return .refused(gate.halt.outcome)
                case .none:
                    gates[app]?.probe = .inFlight(waiting: [])
                    return .probe
                case .inFlight(let waiting):
                    gates[app]?.probe = .inFlight(waiting: waiting + [continuation])
                    return nil
                }
            }
            if let admission { continuation.resume(returning: admission) }
        }
    }

    /// The probe did not leave this machine: the page that has waited longest takes its turn.
    func probeWasNotSent(_ app: AppKey) {
        let next: CheckedContinuation<Admission, Never>? = gates.withLock { gates in
            guard let gate = gates[app], case .inFlight(var waiting) = gate.probe else { return nil }
            let next = waiting.isEmpty ? nil : waiting.removeFirst()
            gates[app]?.probe = next == nil ? .none : .inFlight(waiting: waiting)
            return next
        }
        next?.resume(returning: .probe)
    }

    /// The answer to a probe is in. Refused, the gate stays as it is until `close` says for how long.
    func probed(_ app: AppKey, hasPassed: Bool) {
        let (waiting, admission): ([CheckedContinuation<Admission, Never>], Admission) = gates.withLock { gates in
            guard let gate = gates[app], case .inFlight(let waiting) = gate.probe else { return ([], .send) }
            gates[app]?.probe = hasPassed ? .passed : .refused
            return (waiting, hasPassed ? .send : .refused(gate.halt.outcome))
        }
        waiting.forEach { $0.resume(returning: admission) }
    }
}

extension Halt {
    /// The answer of a token that was not sent because of it.
    var outcome: PushOutcome {
        switch cause {
        case .credentials: .rejected(Rejection(status: 403, reason: RejectionReason(wire: reason, status: 403)))
        case .unreachable:
            .unanswered(NoAnswer(NoAnswer.Cause(rawValue: reason) ?? .connectionFailed, mayHaveBeenDelivered: false))
        }
    }
}
