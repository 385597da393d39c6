import APNsWire
import LiveActivity
import Synchronization
import Threads

/// The circuit breaker of each app. A closed gate is an open circuit: the app rests, so the worker keeps its work and
/// sends none of it. Each halting answer in a row doubles the rest.
///
/// After the rest the gate is half open. It lets one stream entry pass, and of that entry's first page one request, the
/// probe (`GatedTransport`). All other work waits for the answer to the probe. The first page that delivers a token
/// opens the gate.
final class AppGates: Sendable {
    /// How long other entries wait after a half-open gate let one pass, in milliseconds. If the entry had nothing to
    /// send, the next one may send the probe then.
    static let probeTurn: Int64 = 2_000

    struct Gate: Sendable {
        var halt: Halt
        /// Boot-clock milliseconds.
        var until: Int64
        var inARow: Int
        /// A half-open gate lets no other entry pass before this time: boot-clock milliseconds.
        var nextEntry: Int64 = 0
        var probe = Probe.none
    }

    enum Probe: Sendable {
        case none
        /// The probe is on its way to APNs, and these pages wait for its answer.
        case inFlight(waiting: [CheckedContinuation<Admission, Never>])
        case refused
        /// APNs accepted the credentials. The gate opens with the first delivered token.
        case passed
    }

    /// How a page may proceed.
    enum Admission: Sendable {
        case send
        /// Send one request of the page, then call `probed`.
        case probe
        /// Send nothing, because this is the answer to each token of the page.
        case refused(PushOutcome)
    }

    private let gates = Mutex<[AppKey: Gate]>([:])

    /// How long an app rests after the n-th halting answer in a row. One probe a minute is cheap, because it is one
    /// request. APNs counts neither refused credentials nor failed connections.
    static func rest(_ halt: Halt, inARow: Int) -> Duration {
        switch halt.cause {
        case .credentials: Backoff(first: .seconds(15), cap: .seconds(60)).pause(after: inARow + 1)
        case .unreachable: Backoff(first: .seconds(1), cap: .seconds(30)).pause(after: inARow + 1)
        }
    }

    /// How long the app would rest if an answer halted it now.
    func nextRest(_ app: AppKey, _ halt: Halt) -> Duration {
        Self.rest(halt, inARow: gates.withLock { $0[app]?.inARow ?? 0 })
    }

    /// Asks whether a piece of the app's work may begin. At a half-open gate the caller takes the turn to send the
    /// probe.
    /// - Returns: nil if it may begin; otherwise the time after which to ask again
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

    /// Closes the app's gate.
    /// - Returns: true if the app did not rest already, so the caller raises or repeats the alarm
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

    /// Opens the app's gate.
    /// - Returns: the reason for which the app rested, so the caller clears the alarm; nil if it did not rest
    func open(_ app: AppKey) -> Halt? {
        let gate = gates.withLock { $0.removeValue(forKey: app) }
        if case .inFlight(let waiting)? = gate?.probe { waiting.forEach { $0.resume(returning: .send) } }
        return gate?.halt
    }

    /// Begins with a half-open gate, because an earlier worker raised an alarm for this halt. A probe that passes ends
    /// it.
    func inherit(_ app: AppKey, _ halt: Halt) {
        gates.withLock { $0[app] = $0[app] ?? Gate(halt: halt, until: 0, inARow: 0) }
    }

    // MARK: Pages

    /// Says how a page may proceed; waits while a probe is on its way.
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

    /// Passes the probe on to the page that has waited longest, because the probe did not leave this machine.
    func probeWasNotSent(_ app: AppKey) {
        let next: CheckedContinuation<Admission, Never>? = gates.withLock { gates in
            guard let gate = gates[app], case .inFlight(var waiting) = gate.probe else { return nil }
            let next = waiting.isEmpty ? nil : waiting.removeFirst()
            gates[app]?.probe = next == nil ? .none : .inFlight(waiting: waiting)
            return next
        }
        next?.resume(returning: .probe)
    }

    /// Notes the answer to a probe. If APNs refused it, the gate stays as it is until `close` sets the next rest.
    func probed(_ app: AppKey, hasPassed: Bool) {
        let (waiting, admission): ([CheckedContinuation<Admission, Never>], Admission) = gates.withLock { gates in
            guard let gate = gates[app], case .inFlight(let waiting) = gate.probe else { return ([], .send) }
            gates[app]?.probe = hasPassed ? .passed : .refused
            return (waiting, hasPassed ? .send : .refused(gate.halt.outcome))
        }
        waiting.forEach { $0.resume(returning: admission) }
    }
}
